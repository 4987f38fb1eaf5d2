// What the ranks of one communicator know of each other's calls, and the verdict when something is wrong.
// Data messages can only raise a suspicion, because ranks that made different calls run different protocols;
// the verdict comes from the boards, is reached once, by any rank that is stuck, and is the same text on every rank.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "base/bell.h"
#include "base/process_barrier.h"
#include "base/status.h"
#include "runtime/shared_ranks.h"

namespace tutti {

class RollCall {
 public:
  using Clock = std::chrono::steady_clock;

  // The memory of `ranks` outlives the object.
  explicit RollCall(const SharedRanks& ranks) : ranks_(ranks), bells_(ranks.bells(joinProcessBarriers())) {}

  int nranks() const { return ranks_.nranks(); }
  Board& board(int rank) { return ranks_.board(rank); }
  const Bells& bells() const { return bells_; }

  // Not zero once the communicator is broken. Polled by every wait.
  std::uint64_t poison() const { return poisonWord().load(std::memory_order_acquire); }

  const std::atomic<std::uint64_t>& poisonWord() const { return ranks_.cause().poison(); }

  // Breaks the communicator, and wakes all ranks; the first cause stays. Any thread.
  void breakWith(const Status& cause) noexcept {
    ranks_.cause().set(cause);
    bells_.ringAll();
  }
  void breakOutOfMemory() noexcept { breakWith(Status::outOfMemory()); }

  // The first cause; call only when poisoned.
  Status cause() const { return ranks_.cause().get(); }
  Code code() const { return ranks_.cause().code(); }  // its code; ok while there is none

  // For a rank that makes no progress in `call`, or has met a message of another call: reads the boards, and
  // breaks the communicator if ranks differ, in this call or an earlier one, or one has left. As long as some
  // ranks have not come to this call, a difference among the others is kept open for kGrace, so that the text
  // can name all of them. `stalledFor`: since the last progress. `suspicious`: a foreign message was seen.
  void investigate(int rank, const CallDescriptor& call, bool suspicious, Clock::duration stalledFor);

  // For a rank that makes no more calls after `last`, which nobody waits for: ranks can differ in it and all
  // complete it. Breaks the communicator if it knows of a difference.
  void compareLast(const CallDescriptor& last);

  // For a rank whose deadline has passed in `call`: breaks the communicator, naming who is missing.
  void giveUp(int rank, const CallDescriptor& call, std::chrono::milliseconds deadline);

  static constexpr std::chrono::milliseconds kSuspicionAfter{100};
  static constexpr std::chrono::milliseconds kGrace{1000};

 private:
  struct View;
  View look(std::uint64_t sequence) const;
  void breakForMismatch(const View& view);
  // The first call up to that one, as far as boards remember, that ranks made differently; else that one.
  std::uint64_t firstDifference(std::uint64_t sequence);

  const SharedRanks ranks_;
  const Bells bells_;
  // All ranks have made all calls before this one, and what the boards remember of them is the same.
  std::atomic<std::uint64_t> agreed_{0};
};

}  // namespace tutti
