// What this process has once, whatever number of communicators it holds: the handle table and the memory
// given out by tuttiMemAlloc. The named exception to "no globals"; made on first use, never destroyed,
// because calls may come from the destructors of other libraries.
#pragma once

#include <atomic>
#include <map>
#include <mutex>

#include "api/handle_table.h"
#include "transport/page_memory.h"

namespace tutti {

class Process {
 public:
  static Process& get() {
    Process* const process = made_.load(std::memory_order_acquire);
    return process != nullptr ? *process : make();
  }

  // How many forks lie between this process and the first that used the library.
  static int forks() { return forks_; }

  HandleTable& handles() { return handles_; }

  Result<void*> allocate(std::size_t bytes);
  Status free(void* pointer);

  // Numbers communicators that have no name.
  std::uint64_t nextNumber();

 private:
  Process();
  static Process& make();
  void beforeFork();
  void afterFork(bool inChild);

  inline static std::atomic<Process*> made_{nullptr};
  inline static int forks_ = 0;  // changes in the child of a fork only, before anything else runs there

  HandleTable handles_;
  std::mutex mutex_;  // guards what follows
  std::map<void*, PageMemory> allocations_;
  std::uint64_t number_ = 0;
};

}  // namespace tutti
