// What a short call costs by itself: one thread makes the calls of two ranks, so that rank 0 finds every message there
// and never waits. `call_bench [CALLS]` prints the time; instructions are counted by
//   valgrind --tool=callgrind --toggle-collect=tuttiAllReduce call_bench 300
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "api/boundary.h"
#include "api/communicator.h"

namespace tutti {
namespace {

int run(int calls) {
  constexpr int kRanks = 2;
  constexpr int kRounds = 31;
  tuttiComm_t comms[kRanks] = {};
  if (tuttiCommInitAll(comms, kRanks, nullptr) != tuttiSuccess) {
    fmt::print(stderr, "call_bench: {}\n", tuttiGetLastError(nullptr));
    return 1;
  }
  const float mine[] = {1, 2};
  const float others[] = {3, 4};
  float sums[2] = {};
  float othersSums[2] = {};
  const CallRequest request{Collective::allReduce, others, othersSums, 2, DataType::f32, Operation::sum, 0};
  std::vector<double> times;
  {
    const PinnedCommunicator other(comms[1]);
    for (int round = 0; round < kRounds; ++round) {
      const auto began = std::chrono::steady_clock::now();
      for (int call = 0; call < calls; ++call) {
        if (!other->begin(request).isOk()) return 1;
        other->execution().poll();
        if (tuttiAllReduce(mine, sums, 2, tuttiFloat32, tuttiSum, comms[0], nullptr) != tuttiSuccess)
          return 1;
        other->execution().poll();
        if (!other->end(true).isOk()) return 1;
      }
      const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - began;
      times.push_back(took.count() / calls / kRanks);
    }
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  fmt::print("all-reduce of 8 bytes, nobody waits: {:.1f} ns per rank and call (median of {} rounds)\n",
             times[kRounds / 2], kRounds);
  for (tuttiComm_t comm : comms) tuttiCommDestroy(comm);
  return sums[1] == 6 && othersSums[1] == 6 ? 0 : 1;
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 100'000;
  return calls > 0 ? tutti::run(calls) : 2;
}
