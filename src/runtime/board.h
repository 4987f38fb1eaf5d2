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
    storeRelaxed(&line.number, kBeingWritten);
    storeRelease(&line.count, call.count);
    storeRelease(&line.kind, call.kind());
    storeRelease(&line.registrations, call.registrations);
    storeRelease(&line.number, call.sequence + 1);
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
  static constexpr std::uint64_t kBeingWritten = ~std::uint64_t{0};
  struct alignas(64) Line {
    std::uint64_t number =
        0;  // of the call, from 1; every call has its own, so that it is the seqlock's version too
    std::uint64_t count = 0;
    std::uint64_t kind = 0;
    std::uint64_t registrations = 0;
  };

  std::array<Line, kLines> lines_;
  alignas(64) std::uint64_t calls_ = 0;
  std::uint64_t finished_ = 0;
  std::uint64_t left_ = 0;
};

}  // namespace tutti
