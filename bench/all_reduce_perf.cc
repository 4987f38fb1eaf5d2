// all_reduce_perf: time and bandwidth of tuttiAllReduce; everything but these lines is in common/.
#include "common/runner.h"

int main(int argc, char** argv) {
  using namespace tutti::bench;
  return runPerf({.kind = Kind::allReduce,
                  .name = "all_reduce",
                  .about = "time and bandwidth of all-reduce: every rank gets the sum of all ranks' data.",
                  .busFactorText = "2(n-1)/n",
                  .busFactor = [](int n) { return 2.0 * (n - 1) / n; },
                  .call =
                      [](const Call& c) {
                        return tuttiAllReduce(c.send, c.recv, c.count, c.type, c.op, c.comm, nullptr);
                      }},
                 argc, argv);
}
