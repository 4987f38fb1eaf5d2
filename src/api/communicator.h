// One rank's membership in a group of ranks: it wires schedules, links, boards and waiting together, and runs
// the rank's calls. RankGroup is what the ranks of this process share.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/settings.h"
#include "collectives/execute.h"
#include "runtime/roll_call.h"
#include "runtime/watch.h"
#include "transport/inprocess/links.h"

namespace tutti {

struct RankGroup {
  RankGroup(int nranks, std::string label, const Settings& settings);

  const int nranks;
  const std::string label;
  const Settings settings;
  RollCall rollCall;
  std::shared_ptr<InProcessHub> hub;
  std::vector<WindowUse> windowUse;  // by rank

  // Returns once no other rank works on the windows of a call that has broken.
  void awaitWindows(int rank) const;
};

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
class alignas(64) Communicator {
 public:
  Communicator(std::shared_ptr<RankGroup> group, int rank);
  ~Communicator();

  int rank() const { return rank_; }
  int nranks() const { return group_->nranks; }
  const std::string& label() const { return group_->label; }

  // Begins the use of the communicator by a collective, a group, or its end; false while another thread uses
  // it.
  bool enter() { return !busy_.exchange(true, std::memory_order_acquire); }
  void leave() { busy_.store(false, std::memory_order_release); }

  // enter(), and leave() at the end of a scope; false: another thread uses it.
  class Entered {
   public:
    explicit Entered(Communicator& communicator)
        : communicator_(communicator), entered_(communicator.enter()) {}
    Entered(const Entered&) = delete;
    ~Entered() {
      if (entered_) communicator_.leave();
    }
    explicit operator bool() const { return entered_; }

   private:
    Communicator& communicator_;
    const bool entered_;
  };

  // Everything below until "Any thread" is for the thread that has entered.

  // Whether a call can be begun at all: not finalized, not broken.
  Status mayCall();
  // Refuses what no rank could serve, without a trace.
  Status admits(const CallRequest& request) const;

  // Runs one call to its end.
  Status run(const CallRequest& request);

  // The same in parts, for groups: begin() announces the call, finish() tells how it ended.
  Status begin(const CallRequest& request);
  Execution& execution() { return execution_; }
  void progressed() { watch_.progressed(); }
  bool idle() noexcept;
  Status finish(bool completed);

  Status registerMemory(const void* buffer, std::size_t bytes, void** handle);
  Status deregisterMemory(void* handle);
  Status finalize();
  Status lastPlan(tuttiPlan_t& plan) const;

  // Any thread.
  void abort();
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

  Status broken();
  Status prepare();
  bool isRegistered(const CallRequest& request) const;

  const std::shared_ptr<RankGroup> group_;
  const int rank_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> aborted_{false};
  bool finalized_ = false;
  bool reported_ = false;  // the first cause was answered once; later calls answer "broken"
  std::uint64_t sequence_ = 0;
  std::atomic<std::uint32_t> registrationCalls_{0};  // atomic for admits() beside another thread, a misuse
  std::vector<Registration> registrations_;

  InProcessLinks links_;
  PlanTable table_;
  Planner planner_;
  Execution execution_;
  Watch watch_;
};

}  // namespace tutti
