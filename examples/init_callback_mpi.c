/* As all_reduce_mpi.c, without an id: the ranks find each other by an all-gather of the program's own, here MPI's.
   For programs that have a store or a launcher of their own in place of MPI. */
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <tutti/tutti.h>

/* Every rank's bytes to all ranks, in their order. Called while the communicator is made. */
static tuttiResult_t allGather(void* context, const void* mine, void* all, size_t bytes) {
  const MPI_Comm world = *(MPI_Comm*)context;
  if (bytes > INT_MAX) return tuttiNotSupported;
  const int count = (int)bytes;
  const int result = MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, world);
  return result == MPI_SUCCESS ? tuttiSuccess : tuttiSystemError;
}

static void check(tuttiResult_t result, tuttiComm_t comm) {
  if (result == tuttiSuccess) return;
  fprintf(stderr, "%s: %s\n", tuttiGetErrorString(result), tuttiGetLastError(comm));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank, nranks;
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &nranks);

  tuttiComm_t comm;
  check(tuttiCommInitCallback(&comm, nranks, rank, allGather, &world, NULL),
        NULL); /* NULL: default settings */

  double mine = rank + 1, sum;
  check(tuttiAllReduce(&mine, &sum, 1, tuttiFloat64, tuttiSum, comm, NULL), comm);
  printf("rank %d of %d: the sum is %g\n", rank, nranks, sum);

  check(tuttiCommDestroy(comm), NULL);
  MPI_Finalize();
  return 0;
}
