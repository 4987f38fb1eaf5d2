// Where the blocks of all ranks' buffers lie in the checker's memory, and which of them are the same block
// when a call is in place. Every round has its own blocks of input and output; scratch is used again in each.
#pragma once

#include <cstddef>
#include <vector>

#include "collectives/checker_network.h"

namespace tutti {

class CheckMemory {
 public:
  CheckMemory(const CheckNetwork& network, int rounds, bool inPlace);

  std::size_t cells() const { return cells_; }

  std::size_t input(int rank, int block, int round) const {
    return base_[rank] + static_cast<std::size_t>(round) * perRound_[rank] + block;
  }

  std::size_t output(int rank, int block, int round) const {
    const std::size_t start = base_[rank] + static_cast<std::size_t>(round) * perRound_[rank];
    if (inPlace_) {
      const int blocks = network_.blocksPerSegment;
      if (network_.collective == Collective::reduceScatter) return start + rank * blocks + block;
      if (network_.collective != Collective::allGather) return start + block;
      if (block / blocks == rank) return start + block % blocks;
    }
    return start + network_.inputBlocks[rank] + block;
  }

  std::size_t scratch(int rank, int block) const { return scratchBase_[rank] + block; }

  std::size_t at(const CheckNetwork::NetPlace& place, int block, int round) const {
    switch (place.where) {
      case Where::input:
      case Where::peerInput:
        return input(place.owner, block, round);
      case Where::scratch:
        return scratch(place.owner, block);
      default:
        return output(place.owner, block, round);
    }
  }

  // True when some block is touched by two lanes, one of them writing, or by a peer: then order has to be
  // looked at.
  bool needsOrder() const;

 private:
  const CheckNetwork& network_;
  bool inPlace_;
  std::size_t cells_ = 0;
  std::vector<std::size_t> base_;
  std::vector<std::size_t> perRound_;
  std::vector<std::size_t> scratchBase_;
};

}  // namespace tutti
