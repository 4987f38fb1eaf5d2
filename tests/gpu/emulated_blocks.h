// The cooperative form by emulated blocks: everything of a launch but the CUDA spelling of barriers and clocks.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cuda/virtual_ranks.h"
#include "tests/emulation/machine.h"

namespace tutti::cuda {

struct EmulatedBlocks {
  int nthreads = 4;          // of a block
  std::uint64_t seed = 0;    // of the order in which they run
  bool hasDeadline = false;  // a wait ends after a while, as on a GPU
};

// The launches, all of equally many ranks, one after another on each rank's stream. Their memory is the host's. How
// many threads a block has and how long it waits say `blocks`, not the launches.
emulation::Played runEmulated(std::span<const VirtualRanks> launches, const EmulatedBlocks& blocks);

}  // namespace tutti::cuda
