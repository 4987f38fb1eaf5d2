// broadcast_perf: time and bandwidth of tuttiBroadcast; everything but these lines is in common/.
#include "common/runner.h"

int main(int argc, char** argv) {
  using namespace tutti::bench;
  return runPerf({.kind = Kind::broadcast,
                  .name = "broadcast",
                  .about = "time and bandwidth of broadcast: every rank gets the root's data.",
                  .busFactorText = "1",
                  .busFactor = [](int) { return 1.0; },
                  .call =
                      [](const Call& c) {
                        return tuttiBroadcast(c.send, c.recv, c.count, c.type, c.root, c.comm, nullptr);
                      }},
                 argc, argv);
}
