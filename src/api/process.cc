// See process.h.
#include "api/process.h"

#include <pthread.h>

#include <fmt/format.h>

namespace tutti {

Process::Process() {
  pthread_atfork([] { get().beforeFork(); }, [] { get().afterFork(false); }, [] { get().afterFork(true); });
}

void Process::beforeFork() {
  mutex_.lock();
  handles_.beforeFork();
}

void Process::afterFork(bool inChild) {
  if (inChild) ++forks_;
  handles_.afterFork(inChild);
  mutex_.unlock();
}

Process& Process::make() {
  static Process* const process = new Process;
  made_.store(process, std::memory_order_release);
  return *process;
}

Result<void*> Process::allocate(std::size_t bytes) {
  auto memory = PageMemory::allocate(bytes);
  if (!memory.isOk()) return memory.status();
  void* pointer = memory.value().data();
  if (pointer == nullptr) return pointer;
  const std::lock_guard lock(mutex_);
  allocations_.emplace(pointer, std::move(memory).value());
  return pointer;
}

Status Process::free(void* pointer) {
  if (pointer == nullptr) return Status();
  PageMemory memory;
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(pointer);
  if (found == allocations_.end())
    return Status(Code::invalidArgument,
                  fmt::format("{} is not memory of tuttiMemAlloc, or was freed before", pointer));
  memory = std::move(found->second);
  allocations_.erase(found);
  return Status();
}

std::uint64_t Process::nextNumber() {
  const std::lock_guard lock(mutex_);
  return number_++;
}

}  // namespace tutti
