// How a count is cut into rounds and blocks. The cut depends on the count, the element size and the plan
// only, never on pointers or alignment, so every rank computes the same one. Shared by the planner, the
// checker, the host executor and the GPU kernels.
//
//   segment      `count` elements: the whole vector of an all-reduce, one rank's part of an all-gather
//   round        one pass of the schedule over `roundElements` of every segment (the last one over what is left)
//   sub-block    one of `blocks` nearly equal parts of a segment's part in one round; late ones may be short
//                or empty
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tutti {

struct Cut {
  std::uint64_t count = 0;          // elements of one segment
  std::uint64_t roundElements = 1;  // elements of one segment that a full round covers
  std::uint32_t rounds = 1;         // at least 1: a call without elements still exchanges its empty messages
  std::uint32_t blocks = 1;         // sub-blocks per segment and round
  std::uint32_t granule = 1;        // elements; a sub-block starts at a multiple of it within its round
};

// Elements, counted from the start of the segment.
struct Extent {
  std::uint64_t begin;
  std::uint64_t end;
};

struct RoundCut {
  std::uint64_t begin;      // first element of the round in its segment
  std::uint64_t elements;   // elements of the round
  std::uint64_t blockSize;  // elements of a full sub-block
};

TUTTI_HOST_DEVICE RoundCut roundOf(const Cut& cut, std::uint32_t round) {
  const std::uint64_t begin = cut.roundElements * round;
  const std::uint64_t left = begin < cut.count ? cut.count - begin : 0;
  const std::uint64_t elements = left < cut.roundElements ? left : cut.roundElements;
  std::uint64_t size = elements;
  if (cut.blocks > 1) {
    size = (elements + cut.blocks - 1) / cut.blocks;
    size = (size + cut.granule - 1) / cut.granule * cut.granule;
  }
  return {begin, elements, size};
}

// The elements of `nblocks` consecutive sub-blocks of one segment.
TUTTI_HOST_DEVICE Extent extentOf(const RoundCut& round, std::uint32_t block, std::uint32_t nblocks) {
  const std::uint64_t from = round.blockSize * block;
  const std::uint64_t to = from + round.blockSize * nblocks;
  return {round.begin + (from < round.elements ? from : round.elements),
          round.begin + (to < round.elements ? to : round.elements)};
}

// `blockCapacity`: the most elements of one sub-block such that the largest message of the schedule fits its
// slot; 0 when no message carries data (then one round takes everything). Blocks of a kilobyte and more start
// on cache lines of the segment; smaller ones are cut as evenly as possible.
inline Cut makeCut(std::uint64_t count, std::uint32_t blocks, std::uint64_t blockCapacity,
                   std::uint32_t elementBytes) {
  constexpr std::uint64_t kLine = 64;
  constexpr std::uint64_t kAlignedBlock = 1024;
  Cut cut;
  cut.count = count;
  cut.blocks = blocks;
  const std::uint64_t line = elementBytes < kLine ? kLine / elementBytes : 1;
  const bool aligned =
      count / blocks >= kAlignedBlock / elementBytes && (blockCapacity == 0 || blockCapacity >= line);
  cut.granule = static_cast<std::uint32_t>(aligned ? line : 1);
  if (count == 0) return cut;
  std::uint64_t rounds = 1;
  if (blockCapacity != 0) {
    const std::uint64_t most = blockCapacity / cut.granule * cut.granule * blocks;
    rounds = (count - 1) / most + 1;
  }
  const std::uint64_t even = (count - 1) / rounds + 1;
  const std::uint64_t step = static_cast<std::uint64_t>(cut.granule) * blocks;
  cut.roundElements = ((even - 1) / step + 1) * step;
  cut.rounds = static_cast<std::uint32_t>((count - 1) / cut.roundElements + 1);
  return cut;
}

}  // namespace tutti
