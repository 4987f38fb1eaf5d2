// reduce_perf: time and bandwidth of tuttiReduce; everything but these lines is in common/.
#include "common/runner.h"

int main(int argc, char** argv) {
  using namespace tutti::bench;
  return runPerf({.kind = Kind::reduce,
                  .name = "reduce",
                  .about = "time and bandwidth of reduce: the root gets the sum of all ranks' data.",
                  .busFactorText = "1",
                  .busFactor = [](int) { return 1.0; },
                  .call =
                      [](const Call& c) {
                        return tuttiReduce(c.send, c.recv, c.count, c.type, c.op, c.root, c.comm, nullptr);
                      }},
                 argc, argv);
}
