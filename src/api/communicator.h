// One rank's membership in a group of ranks: it wires schedules, links, boards and waiting together, and runs
// the rank's calls.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/rank_group.h"
#include "base/cache_lines.h"
#include "collectives/execute.h"
#include "runtime/watch.h"

namespace tutti {

// A call as the user made it, its arguments checked.
struct CallRequest {
  Collective collective;
  const void* send;
  void* recv;
  std::uint64_t count;
  DataType type;
  Operation operation;
  int root;
};

// On cache lines of its own: the ranks of a process are made one after the other.
class alignas(kApart) Communicator {
 public:
  // `log`: this rank's own, which may differ from those of others in the process.
  Communicator(std::shared_ptr<RankGroup> group, int rank, const Log& log);
  ~Communicator();

  int rank() const { return rank_; }
  int nranks() const { return group_->nranks; }
  const std::string& label() const { return group_->label; }
  const RankGroup& group() const { return *group_; }
  const Log& log() const { return log_; }

  // Everything below until "Any thread" is for the thread that has entered (HandleTable::enter).

  // Whether a call can be begun at all: not finalized, not broken.
  Status mayCall() {
    if (isBroken() || finalized_) [[unlikely]]
      return mayNotCall();
    return Status();
  }
  // Refuses what no rank could serve, without a trace.
  Status admits(const CallRequest& request) const;

  // Runs one call to its end. Inlined, like all that it consists of but complete(), because a short call is little more
  // than what calling is.
  [[gnu::always_inline]] Status run(const CallRequest& request) {
    TUTTI_TRY(mayCall());
    TUTTI_TRY(begin(request));
    return complete();
  }

  // The same in parts, for groups: begin() announces the call, end() tells how it ended. If it has failed, its buffers
  // are the caller's once awaitWindows() has returned: when a group has no other calls left to poll.
  [[gnu::always_inline]] Status begin(const CallRequest& request) {
    const CollectiveCall call{{request.collective, request.type, request.operation, request.root,
                               registrationCalls_.load(std::memory_order_relaxed), request.count, sequence_},
                              request.send,
                              request.recv};
    if (call.descriptor.registrations != 0 || !execution_.isPrepared(call.descriptor)) [[unlikely]]
      return beginWithCare(call);
    start(call);
    return Status();
  }
  Execution& execution() { return execution_; }
  void progressed() { watch_.progressed(); }
  Waiting idle() noexcept {
    if (watch_.spins(execution_.isSuspicious())) return {};
    return waitingNow();
  }
  Watch& watch() { return watch_; }
  Status end(bool completed) {
    watch_.end();
    board_.finish();
    if (!completed) [[unlikely]]
      return endBroken();
    return execution_.outcome().isOk() ? Status() : endFailed();
  }
  void awaitWindows() noexcept;

  Status registerMemory(const void* buffer, std::size_t bytes, void** handle);
  Status deregisterMemory(void* handle);
  // No more calls. A failure when the last one turns out to differ from another rank's.
  Status finalize();
  Status lastPlan(tuttiPlan_t& plan) const;

  // Any thread.
  void abort() noexcept;
  // Its handle cannot be given out, or not with others that it belongs to: the others are told why.
  void giveUp(const Status& why) noexcept;
  void breakOutOfMemory() noexcept { group_->rollCall.breakOutOfMemory(); }
  Code asyncError() const;
  bool isBroken() const { return group_->rollCall.poison() != 0; }
  Status firstCause() const { return group_->rollCall.cause(); }

 private:
  struct Registration {
    const std::byte* begin;
    const std::byte* end;
    std::uint64_t number;  // the handle
  };

  Status beginWithCare(CollectiveCall call);
  [[gnu::always_inline]] void start(const CollectiveCall& call) {
    ++sequence_;
    board_.announce(call.descriptor);
    watch_.begin();
    execution_.start(call);
  }
  Status complete();
  Waiting waitingNow() noexcept;
  Status mayNotCall();
  Status finish(bool completed) {
    Status status = end(completed);
    if (!status.isOk()) [[unlikely]]
      awaitWindows();
    return status;
  }
  Status endBroken();
  Status endFailed();
  Status broken();
  Status prepare(const CollectiveCall& call);
  bool isRegistered(const CollectiveCall& call) const;

  const std::shared_ptr<RankGroup> group_;
  const int rank_;
  const Log log_;
  Board& board_;
  std::atomic<bool> aborted_{false};
  bool finalized_ = false;
  bool reported_ = false;  // the first cause was answered once; later calls answer "broken"
  std::uint64_t sequence_ = 0;
  std::atomic<std::uint32_t> registrationCalls_{0};  // atomic for admits() beside another thread, a misuse
  std::vector<Registration> registrations_;
  std::optional<std::chrono::steady_clock::time_point> leftWindows_;  // peers may still be at work on them

  const std::unique_ptr<LinkSource> links_;
  PlanTable table_;
  Planner planner_;
  Execution execution_;
  Watch watch_;
};

}  // namespace tutti
