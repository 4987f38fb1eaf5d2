// What a collective does, independent of how: the word that schedules, boards and messages share.
#pragma once

#include <cstdint>

namespace tutti {

enum class Collective : std::uint8_t { allReduce, broadcast, reduce, reduceScatter, allGather, barrier };
inline constexpr int kCollectives = 6;

constexpr const char* nameOf(Collective collective) {
  constexpr const char* names[kCollectives] = {"all-reduce",     "broadcast",  "reduce",
                                               "reduce-scatter", "all-gather", "barrier"};
  return names[static_cast<int>(collective)];
}

constexpr bool reduces(Collective collective) {
  return collective == Collective::allReduce || collective == Collective::reduce ||
         collective == Collective::reduceScatter;
}

constexpr bool isRooted(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce;
}

// Segments of input and output, in units of the call's count.
constexpr int inputSegmentsOf(Collective collective, int nranks) {
  return collective == Collective::reduceScatter ? nranks : 1;
}
constexpr int outputSegmentsOf(Collective collective, int nranks) {
  return collective == Collective::allGather ? nranks : 1;
}

}  // namespace tutti
