// What the ranks of a communicator share besides their links: the first cause, the cores that they may run on,
// their bells, their boards and their use of windows. No pointers, and right when it is all zero, so that it can lie in the
// memory of one process and be mapped by others.
#pragma once

#include <cstddef>
#include <new>

#include "base/bell.h"
#include "base/cache_lines.h"
#include "base/window_gate.h"
#include "runtime/board.h"
#include "runtime/cores.h"
#include "runtime/first_cause.h"

namespace tutti {

class SharedRanks {
 public:
  static std::size_t bytesFor(int nranks) {
    return sizeof(Head) + bellBytes(nranks) + static_cast<std::size_t>(nranks) * sizeof(OfRank);
  }

  // `memory`: as many bytes, zero before the first rank came, on a multiple of kApart. It stays the caller's.
  SharedRanks(std::byte* memory, int nranks)
      : head_(reinterpret_cast<Head*>(memory)),
        bells_(reinterpret_cast<Bell*>(memory + sizeof(Head))),
        ranks_(reinterpret_cast<OfRank*>(memory + sizeof(Head) + bellBytes(nranks))),
        nranks_(nranks) {}

  int nranks() const { return nranks_; }
  FirstCause& cause() const { return head_->cause; }
  CoreSet& cores() const { return head_->cores; }
  // `barriers`: what joinProcessBarriers() has said.
  Bells bells(bool barriers) const {
    return Bells(head_->sleepers, {bells_, static_cast<std::size_t>(nranks_)}, barriers);
  }
  Board& board(int rank) const { return ranks_[rank].board; }
  WindowUse& windowUse(int rank) const { return ranks_[rank].windowUse; }

 private:
  struct alignas(kApart) Head {
    FirstCause cause;
    CoreSet cores;
    SleeperCount sleepers;
  };
  struct OfRank {
    Board board;
    WindowUse windowUse;
  };

  static std::size_t bellBytes(int nranks) {
    return (static_cast<std::size_t>(nranks) * sizeof(Bell) + kApart - 1) / kApart * kApart;
  }

  Head* head_;
  Bell* bells_;
  OfRank* ranks_;
  int nranks_;
};

}  // namespace tutti
