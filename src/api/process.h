// What this process has once, whatever number of communicators it holds: the handle table, the machine, the arena, the
// service thread, and what it knows of other processes. The named exception to "no globals"; made when the library
// is loaded, never destroyed, because calls may come from the destructors of other libraries.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "api/handle_table.h"
#include "api/notices.h"
#include "api/peers.h"
#include "api/shared_groups.h"
#include "runtime/rendezvous/rendezvous.h"
#include "runtime/service.h"
#include "topology/machine.h"
#include "transport/page_memory.h"
#include "transport/shared/arena.h"

namespace tutti {

class Process {
 public:
  static Process& get() {
    Process* const process = made_.load(std::memory_order_acquire);
    return process != nullptr ? *process : make();
  }

  // How many forks lie between this process and the first that loaded the library.
  static int forks() { return forks_; }

  HandleTable& handles() { return handles_; }

  // Looked at when first asked for, and not again: also a forked child has it.
  const Machine& machine();

  // Made when first asked for; a failure is no memory of it.
  Result<Arena*> arena();
  Result<Service*> service();
  Peers& peers() { return shared_->peers; }
  SharedGroups& groups() { return shared_->groups; }
  // 16 random bytes that name this process to others; a failure is no memory of it.
  Result<std::string> token();

  // Serves the ranks of a new id until they have met, and late ones that are to hear why that failed. False: `most`
  // ids are being served.
  Result<bool> serve(const UniqueId& id, std::size_t most, std::chrono::milliseconds toldLate);
  // Ends the meetings of which `which` is true.
  void endMeetings(bool (RendezvousHost::*which)() const);
  // Returns once all ranks of the job have been told how their meeting has ended, if they met in this process; at the
  // deadline at the latest. If the program ended before, those that come late would not hear why.
  void awaitMeeting(const std::string& job, std::chrono::milliseconds deadline);

  // The group has no ranks in this process any more, but peers may still use its memory here: it is looked after
  // until that has gone back.
  void bury(std::shared_ptr<HostGroup> group) noexcept;

  Result<void*> allocate(std::size_t bytes);
  Status free(void* pointer);

  // Whether it is the first time that the notice is asked for. Any thread.
  bool isFirst(Notice notice) {
    const unsigned bit = 1u << static_cast<unsigned>(notice);
    return (told_.fetch_or(bit, std::memory_order_relaxed) & bit) == 0;
  }

  // Numbers communicators that have no name.
  std::uint64_t nextNumber();

 private:
  // What a forked child must not use, and begins anew.
  struct Shared {
    std::string token;
    std::unique_ptr<Arena> arena;
    std::unique_ptr<Service> service;
    Peers peers;
    SharedGroups groups;
    std::map<std::string, std::unique_ptr<RendezvousHost>> hosts;  // by job
    std::list<std::shared_ptr<HostGroup>> buried;
    std::unique_ptr<Shared> parents;  // of a forked child: never used, and never ended, as Process is not
  };
  // In the arena, by its offset; or of its own, where there is no arena.
  using Allocation = std::variant<std::uint64_t, PageMemory>;

  Process();
  static Process& make();
  static Process& madeAtLoad_;
  void beforeFork();
  void afterFork(bool inChild);
  bool sweep() noexcept;

  inline static std::atomic<Process*> made_{nullptr};
  inline static int forks_ = 0;  // changes in the child of a fork only, before anything else runs there

  HandleTable handles_;
  std::atomic<unsigned> told_{0};
  std::mutex mutex_;  // guards what follows
  std::optional<Machine> machine_;
  std::unique_ptr<Shared> shared_;
  std::map<void*, Allocation> allocations_;
  std::uint64_t number_ = 0;
};

}  // namespace tutti
