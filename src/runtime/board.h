// A board is where one rank shows which calls it has made: a ring of 64-byte lines, one per call, each
// written as a seqlock before the call's first message. Nobody reads it unless something looks wrong, so it
// costs a few stores.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/cache_lines.h"
#include "base/call_descriptor.h"
#include "base/memory_order.h"

namespace tutti {

class alignas(kApart) Board {
 public:
  static constexpr std::uint64_t kLines = 64;

  // By the rank that owns the board, one call after the other.
  void announce(const CallDescriptor& call) {
    Line& line = lines_[call.sequence % kLines];
    const std::uint64_t version = loadRelaxed(&line.version);
    storeRelaxed(&line.version, version + 1);
    storeRelease(&line.words[0], call.sequence + 1);
    storeRelease(&line.words[1], call.count);
    storeRelease(&line.words[2], call.kind());
    storeRelease(&line.words[3], call.registrations);
    storeRelease(&line.version, version + 2);
    storeRelease(&calls_, call.sequence + 1);
  }

  // By the owner: it has ended all calls that it has announced.
  void finish() { storeRelease(&finished_, loadRelaxed(&calls_)); }

  // By the owner: it makes no more calls.
  void leave();

  // The number of calls announced so far, and of those that have ended. Any thread.
  std::uint64_t calls() const;
  std::uint64_t finished() const;
  bool hasLeft() const;

  // The call with that number; nothing when it has not been made yet, or its line has been used again. Any
  // thread.
  std::optional<CallDescriptor> read(std::uint64_t sequence) const;

 private:
  static constexpr int kWords = 7;
  struct alignas(64) Line {
    std::uint64_t version = 0;  // odd while the line is being written
    std::uint64_t words[kWords] = {};
  };

  std::array<Line, kLines> lines_;
  alignas(64) std::uint64_t calls_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t left_ = 0;
};

}  // namespace tutti
