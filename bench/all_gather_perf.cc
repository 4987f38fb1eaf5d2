// all_gather_perf: time and bandwidth of tuttiAllGather; everything but these lines is in common/.
#include "common/runner.h"

int main(int argc, char** argv) {
  using namespace tutti::bench;
  return runPerf(
      {.kind = Kind::allGather,
       .name = "all_gather",
       .about = "time and bandwidth of all-gather: every rank gets the blocks of all ranks.",
       .busFactorText = "(n-1)/n",
       .busFactor = [](int n) { return 1.0 * (n - 1) / n; },
       .call =
           [](const Call& c) { return tuttiAllGather(c.send, c.recv, c.count, c.type, c.comm, nullptr); }},
      argc, argv);
}
