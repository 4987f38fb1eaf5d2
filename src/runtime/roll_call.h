// What the ranks of one communicator know of each other's calls, and the verdict when something is wrong.
// Data messages can only raise a suspicion, because ranks that made different calls run different protocols;
// the verdict comes from the boards, is reached once, and is the same text on every rank. In one process any
// rank that is stuck may reach it; between processes the service thread does.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/board.h"

namespace tutti {

class RollCall {
 public:
  using Clock = std::chrono::steady_clock;

  RollCall(int nranks, std::string communicator);

  int nranks() const { return static_cast<int>(boards_.size()); }
  Board& board(int rank) { return *boards_[rank]; }

  // Not zero once the communicator is broken: then the code of the first cause. Polled by every wait.
  std::uint64_t poison() const { return poison_.load(std::memory_order_acquire); }

  const std::atomic<std::uint64_t>& poisonWord() const { return poison_; }

  // Breaks the communicator; the first cause stays. Any thread.
  void breakWith(Status cause) noexcept;
  void breakOutOfMemory() noexcept { breakWith(Status::outOfMemory()); }

  // The first cause; call only when poisoned.
  Status cause() const;

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
  std::uint64_t firstDifference(std::uint64_t sequence) const;

  std::vector<std::unique_ptr<Board>> boards_;
  std::string communicator_;
  std::atomic<std::uint64_t> poison_{0};
  mutable std::mutex mutex_;  // guards cause_
  Status cause_;
};

}  // namespace tutti
