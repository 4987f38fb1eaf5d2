// The data of a checked call: what every rank puts in, and what has to come out, by a plain loop over ranks.
// Inputs are small whole numbers chosen so that the result is exact in every type and in every order of
// adding; where nothing is reduced they are arbitrary bits.
#pragma once

#include <tutti/tutti.h>

#include <cstddef>
#include <vector>

namespace tutti::bench {

// A sequence of elements that repeats after kPeriod elements. The period is prime, so that data shifted by a
// slot, a block or a cache line is never taken for the right one.
inline constexpr std::size_t kPeriod = 4093;

struct Sequence {
  std::size_t elementBytes = 0;
  std::vector<unsigned char> bytes;  // two periods, so that a whole one can be copied from any phase

  const unsigned char* at(std::size_t index) const { return bytes.data() + (index % kPeriod) * elementBytes; }
};

struct Pattern {
  std::vector<Sequence> inputs;  // one per rank
  Sequence reduced;              // empty where nothing is reduced
  Sequence untouched;            // what is in receive buffers before the call
};

// seed tells calls apart, so that what an earlier call left in a buffer is not taken for the result.
Pattern reducedPattern(int nranks, tuttiDataType_t type, tuttiRedOp_t op, unsigned seed);
Pattern copiedPattern(int nranks, tuttiDataType_t type, unsigned seed);

}  // namespace tutti::bench
