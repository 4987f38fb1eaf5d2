/* The ranks are processes that mpirun starts. MPI does one thing here: it carries the unique id from rank 0 to the
   others. From then on the ranks talk through tutti. Build it with
       mpicc all_reduce_mpi.c $(pkg-config --cflags --libs tutti) -o all_reduce_mpi
   and run it with: mpirun -n 2 all_reduce_mpi */
#include <mpi.h>
#include <stdio.h>
#include <tutti/tutti.h>

enum { kCount = 1000 };

/* A failure ends all processes: the others would wait for this one in MPI. */
static void check(tuttiResult_t result, tuttiComm_t comm) {
  if (result == tuttiSuccess) return;
  fprintf(stderr, "%s: %s\n", tuttiGetErrorString(result), tuttiGetLastError(comm));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank, nranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);

  /* One rank makes the id, all join with it. */
  tuttiUniqueId id;
  if (rank == 0) check(tuttiGetUniqueId(&id), NULL);
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  tuttiComm_t comm;
  check(tuttiCommInitRank(&comm, nranks, id, rank), NULL);

  float mine[kCount], sum[kCount];
  for (size_t i = 0; i < kCount; ++i) mine[i] = (float)(rank + 1);
  check(tuttiAllReduce(mine, sum, kCount, tuttiFloat32, tuttiSum, comm, NULL), comm);
  printf("rank %d of %d: each element is %g\n", rank, nranks, sum[kCount - 1]);

  check(tuttiCommDestroy(comm), NULL);
  MPI_Finalize();
  return 0;
}
