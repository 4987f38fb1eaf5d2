/* Four ranks, threads of one process, sum their buffers: after the call every rank holds the sum of all.
   Plain C; build it with: cc all_reduce.c $(pkg-config --cflags --libs tutti) -pthread -o all_reduce */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tutti/tutti.h>

enum { kRanks = 4, kCount = 1000 };

static void check(tuttiResult_t result, tuttiComm_t comm) {
  if (result == tuttiSuccess) return;
  fprintf(stderr, "%s: %s\n", tuttiGetErrorString(result), tuttiGetLastError(comm));
  exit(1);
}

/* One rank: contributes its rank + 1 in every element and looks at the sum. */
static void* runRank(void* argument) {
  tuttiComm_t comm = *(tuttiComm_t*)argument;
  int rank;
  check(tuttiCommUserRank(comm, &rank), comm);

  float mine[kCount], sum[kCount];
  for (size_t i = 0; i < kCount; ++i) mine[i] = (float)(rank + 1);
  check(tuttiAllReduce(mine, sum, kCount, tuttiFloat32, tuttiSum, comm, NULL), comm);

  printf("rank %d of %d: each element is %g\n", rank, kRanks, sum[kCount - 1]);
  return NULL;
}

int main(void) {
  tuttiComm_t comms[kRanks];
  check(tuttiCommInitAll(comms, kRanks, NULL), NULL); /* no devices: the data is in host memory */

  pthread_t threads[kRanks];
  for (int r = 0; r < kRanks; ++r) pthread_create(&threads[r], NULL, runRank, &comms[r]);
  for (int r = 0; r < kRanks; ++r) pthread_join(threads[r], NULL);

  for (int r = 0; r < kRanks; ++r) check(tuttiCommDestroy(comms[r]), NULL);
  return 0;
}
