// Who has touched which block, and whether messages order it before what comes now: vector clocks over lanes,
// and for each block its last write and the reads since. Credits order nothing here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti {

// One entry for each lane: how many of its steps are known to be done.
using VectorClock = std::vector<std::uint32_t>;

inline void join(VectorClock& clock, const VectorClock& other) {
  for (std::size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
}

class AccessHistory {
 public:
  explicit AccessHistory(std::size_t cells) : cells_(cells) {}

  // An access by the step of `lane` whose clock is `clock`. Returns a lane whose earlier access clashes with
  // it, or -1.
  int read(std::size_t cell, int lane, const VectorClock& clock) {
    Cell& at = cells_[cell];
    for (int i = at.reads; i >= 0; i = reads_[i].next) {
      if (reads_[i].lane != lane) continue;
      reads_[i].time = clock[lane];
      return clash(at, clock);
    }
    reads_.push_back({lane, clock[lane], at.reads});
    at.reads = static_cast<int>(reads_.size()) - 1;
    return clash(at, clock);
  }

  int write(std::size_t cell, int lane, const VectorClock& clock) {
    Cell& at = cells_[cell];
    int other = clash(at, clock);
    for (int i = at.reads; i >= 0; i = reads_[i].next) {
      ++comparisons_;
      if (reads_[i].time > clock[reads_[i].lane]) other = reads_[i].lane;
    }
    at = {lane, clock[lane], -1};
    return other;
  }

  std::int64_t comparisons() const { return comparisons_; }

 private:
  struct Cell {
    int writer = -1;
    std::uint32_t time = 0;
    int reads = -1;  // a list in reads_
  };
  struct Read {
    int lane;
    std::uint32_t time;
    int next;
  };

  int clash(const Cell& at, const VectorClock& clock) {
    ++comparisons_;
    return at.writer >= 0 && at.time > clock[at.writer] ? at.writer : -1;
  }

  std::vector<Cell> cells_;
  std::vector<Read> reads_;
  std::int64_t comparisons_ = 0;
};

}  // namespace tutti
