// The shared state of ranks of one process, for tests.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/roll_call.h"

namespace tutti {

class LocalRanks {
 public:
  explicit LocalRanks(int nranks)
      : memory_((SharedRanks::bytesFor(nranks) + sizeof(Piece) - 1) / sizeof(Piece)),
        ranks_(memory_.front().bytes, nranks) {}

  const SharedRanks& ranks() const { return ranks_; }

 private:
  struct alignas(kApart) Piece {
    std::byte bytes[kApart];
  };

  std::vector<Piece> memory_;
  SharedRanks ranks_;
};

class LocalRollCall : private LocalRanks, public RollCall {
 public:
  explicit LocalRollCall(int nranks) : LocalRanks(nranks), RollCall(LocalRanks::ranks()) {}
};

}  // namespace tutti
