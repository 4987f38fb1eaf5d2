// How a rank waits inside one call: it spins as long as spinning pays, then yields, then sleeps in short
// naps; and it looks after the promises that nothing hangs (the deadline), that a broken communicator is
// noticed at once (the poison word), and that a stalled call is investigated.
#pragma once

#include <chrono>
#include <cstdint>

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

class Watch {
 public:
  Watch(RollCall& rollCall, int rank, const WaitPolicy& policy)
      : rollCall_(rollCall), rank_(rank), policy_(policy) {}

  void begin() {
    idles_ = 0;
    began_ = stalled_ = Clock::time_point();
    nextLook_ = Clock::duration::zero();
  }
  void progressed() {
    idles_ = 0;
    stalled_ = Clock::time_point();
    nextLook_ = Clock::duration::zero();
  }

  // After a turn in which nothing moved. False: the communicator is broken, and rollCall.cause() tells why.
  // `rests`: it may yield or nap; false for a thread that has other ranks to look after.
  bool idle(const CallDescriptor& call, bool suspicious, bool rests = true) {
    if (rollCall_.poison() != 0) return false;
    if (++idles_ % kTurns != 0 && spins_ && !suspicious) return true;
    return pause(call, suspicious, rests);
  }

 private:
  using Clock = RollCall::Clock;
  static constexpr std::uint32_t kTurns = 128;

  bool pause(const CallDescriptor& call, bool suspicious, bool rests);

  RollCall& rollCall_;
  const int rank_;
  const WaitPolicy policy_;
  bool spins_ = true;  // found out when it matters
  std::uint32_t idles_ = 0;
  Clock::time_point began_;    // of waiting in this call; the epoch: not yet
  Clock::time_point stalled_;  // since the last progress
  Clock::duration nextLook_ = Clock::duration::zero();
};

}  // namespace tutti
