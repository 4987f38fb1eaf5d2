// The part of reduceCopy that moves bytes and computes nothing: one source, any number of destinations.
#pragma once

#include <cstddef>
#include <cstring>

#include "kernels/reduction.h"

namespace tutti {

// Copies `bytes` bytes to every destination; one that is the source itself is left alone. No alignment is
// needed. Streaming destinations are written past the caches where the processor can.
void copyBits(const void* source, const Destination* destinations, int ndestinations, std::size_t bytes);

// The same for at most kFewBytes and one destination, without a call: two moves that may overlap.
inline constexpr std::size_t kFewBytes = 64;
inline void copyFewBits(const void* source, void* destination, std::size_t bytes) {
  const auto* from = static_cast<const unsigned char*>(source);
  auto* to = static_cast<unsigned char*>(destination);
  const auto moveTwice = [=](auto piece) {
    auto first = piece, last = piece;
    std::memcpy(&first, from, sizeof(piece));
    std::memcpy(&last, from + bytes - sizeof(piece), sizeof(piece));
    std::memcpy(to, &first, sizeof(piece));
    std::memcpy(to + bytes - sizeof(piece), &last, sizeof(piece));
  };
  struct Bytes16 {
    std::uint64_t words[2];
  };
  struct Bytes32 {
    std::uint64_t words[4];
  };
  if (bytes >= 32)
    moveTwice(Bytes32());
  else if (bytes >= 16)
    moveTwice(Bytes16());
  else if (bytes >= 8)
    moveTwice(std::uint64_t());
  else if (bytes >= 4)
    moveTwice(std::uint32_t());
  else
    for (std::size_t i = 0; i < bytes; ++i) to[i] = from[i];
}

}  // namespace tutti
