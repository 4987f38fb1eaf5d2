// How a rank waits inside one call: it spins as long as spinning pays, then yields, then sleeps until a peer has
// something for it; and it looks after the promises that nothing hangs (the deadline), that a broken communicator is
// noticed at once (the poison word), and that a stalled call is investigated.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include "base/bell.h"
#include "base/call_descriptor.h"
#include "runtime/cores.h"
#include "runtime/roll_call.h"

namespace tutti {

struct WaitPolicy {
  const Cores* cores = nullptr;  // null: enough for all ranks
  std::chrono::milliseconds deadline{30 * 60 * 1000};
};

// Sleeps; a thread that is being cancelled does not end in it.
void nap(std::chrono::microseconds time);

// What a rank that makes no progress may do before it polls again, from the most to the least urgent.
struct Waiting {
  enum class By : std::uint8_t {
    broken,  // it need not: the communicator is broken, and RollCall::cause() tells why
    spinning,
    yielding,
    sleeping
  };

  By by = By::spinning;
  std::chrono::nanoseconds atMost = std::chrono::nanoseconds::max();  // of sleep

  // For a thread that waits for both.
  static Waiting leastOf(const Waiting& one, const Waiting& other) {
    return {std::min(one.by, other.by), std::min(one.atMost, other.atMost)};
  }
};

class Watch {
 public:
  Watch(RollCall& rollCall, int rank, const WaitPolicy& policy)
      : rollCall_(rollCall), rank_(rank), policy_(policy), sleeper_(rollCall.bells(), rank) {}

  void begin() {
    idles_ = 0;
    began_ = stalled_ = Clock::time_point();
    nextLook_ = Clock::duration::zero();
  }
  void progressed() {
    idles_ = 0;
    stalled_ = Clock::time_point();
    nextLook_ = Clock::duration::zero();
    sleeper_.disarm();
  }
  void end() noexcept { sleeper_.disarm(); }

  // After a turn in which nothing moved. True: poll again at once.
  bool spins(bool suspicious) {
    return ++idles_ % kTurns != 0 && spins_ && !suspicious && rollCall_.poison() == 0;
  }
  // Otherwise.
  Waiting idle(const CallDescriptor& call, bool suspicious);

  // Does what all of them allow (Waiting::leastOf), one of whom is the caller's at least; then they are to be polled
  // again, also when it has not slept yet.
  static void rest(std::span<Watch* const> all, const Waiting& waiting) noexcept;

 private:
  using Clock = RollCall::Clock;
  static constexpr std::uint32_t kTurns = 128;

  static void sleep(std::span<Watch* const> all, std::chrono::nanoseconds atMost) noexcept;

  RollCall& rollCall_;
  const int rank_;
  const WaitPolicy policy_;
  Sleeper sleeper_;
  bool spins_ = true;  // found out when it matters
  std::uint32_t idles_ = 0;
  Clock::time_point began_;    // of waiting in this call; the epoch: not yet
  Clock::time_point stalled_;  // since the last progress
  Clock::duration nextLook_ = Clock::duration::zero();
};

}  // namespace tutti
