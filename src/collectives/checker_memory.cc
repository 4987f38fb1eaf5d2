// See checker_memory.h.
#include "collectives/checker_memory.h"

namespace tutti {

CheckMemory::CheckMemory(const CheckNetwork& network, int rounds, bool inPlace)
    : network_(network), inPlace_(inPlace) {
  for (int rank = 0; rank < network.nranks; ++rank) {
    base_.push_back(cells_);
    perRound_.push_back(static_cast<std::size_t>(network.inputBlocks[rank]) + network.outputBlocks[rank]);
    cells_ += perRound_.back() * rounds;
    scratchBase_.push_back(cells_);
    cells_ += network.scratchBlocks[rank];
  }
}

bool CheckMemory::needsOrder() const {
  if (network_.usesWindows) return true;
  struct Use {
    int lane = -1;
    bool shared = false;
    bool written = false;
  };
  std::vector<Use> uses(cells_);
  for (int lane = 0; lane < static_cast<int>(network_.lanes.size()); ++lane) {
    const auto& netLane = network_.lanes[lane];
    for (int s = netLane.firstStep; s < netLane.firstStep + netLane.nsteps; ++s) {
      const auto& step = network_.steps[s];
      for (int i = 0; i < step.nsources + step.ndestinations; ++i) {
        const auto& place = network_.places[step.firstPlace + i];
        if (place.link >= 0) continue;
        for (int b = place.block; b < place.block + place.nblocks; ++b) {
          Use& use = uses[at(place, b, 0)];
          if (use.lane < 0) use.lane = lane;
          use.shared = use.shared || use.lane != lane;
          use.written = use.written || i >= step.nsources;
          if (use.shared && use.written) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace tutti
