// reduce_scatter_perf: time and bandwidth of tuttiReduceScatter; everything but these lines is in common/.
#include "common/runner.h"

int main(int argc, char** argv) {
  using namespace tutti::bench;
  return runPerf(
      {.kind = Kind::reduceScatter,
       .name = "reduce_scatter",
       .about = "time and bandwidth of reduce-scatter: rank r gets block r of the sum of all ranks' data.",
       .busFactorText = "(n-1)/n",
       .busFactor = [](int n) { return 1.0 * (n - 1) / n; },
       .call =
           [](const Call& c) {
             return tuttiReduceScatter(c.send, c.recv, c.count, c.type, c.op, c.comm, nullptr);
           }},
      argc, argv);
}
