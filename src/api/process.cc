// See process.h.
#include "api/process.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/random.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/refused.h"
#include "topology/discover.h"

namespace tutti {

Process::Process() : shared_(std::make_unique<Shared>()) {
  pthread_atfork([] { get().beforeFork(); }, [] { get().afterFork(false); }, [] { get().afterFork(true); });
}

void Process::beforeFork() {
  mutex_.lock();
  handles_.beforeFork();
}

// The child has no thread of the parent's and closes its descriptors, so that peers do not take it for the
// parent. What the parent had is kept as it lies: nobody in the child can end it in order.
void Process::afterFork(bool inChild) {
  if (inChild) {
    ++forks_;
    FileDescriptor::closeAllInChild();
    auto own = std::make_unique<Shared>();
    own->parents = std::move(shared_);
    shared_ = std::move(own);
  }
  handles_.afterFork(inChild);
  mutex_.unlock();
}

Process& Process::make() {
  static Process* const process = new Process;
  made_.store(process, std::memory_order_release);
  return *process;
}

// A fork in the middle of the making would leave the child waiting for its end.
[[maybe_unused]] Process& Process::madeAtLoad_ = Process::get();

const Machine& Process::machine() {
  const std::lock_guard lock(mutex_);
  if (!machine_) machine_ = discover();
  return *machine_;
}

// Of so few bytes getrandom gives all, or refuses.
Result<std::string> Process::token() {
  const std::lock_guard lock(mutex_);
  if (shared_->token.empty()) {
    std::string random(16, '\0');
    if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
      return refused("no random name for this process", "getrandom", errno);
    shared_->token = std::move(random);
  }
  return shared_->token;
}

Result<Arena*> Process::arena() {
  const std::lock_guard lock(mutex_);
  if (shared_->arena == nullptr) {
    auto arena = Arena::make();
    if (!arena.isOk()) return arena.status();
    shared_->arena = std::move(arena).value();
  }
  return shared_->arena.get();
}

Result<Service*> Process::service() {
  const std::lock_guard lock(mutex_);
  if (shared_->service == nullptr) {
    auto service = Service::start();
    if (!service.isOk()) return service.status();
    shared_->service = std::move(service).value();
  }
  return shared_->service.get();
}

// The deadlines of the ranks are what counts.
Result<bool> Process::serve(const UniqueId& id, std::size_t most, std::chrono::milliseconds toldLate) {
  const std::lock_guard lock(mutex_);
  if (shared_->hosts.size() >= most) return false;
  auto host = RendezvousHost::start(id, std::chrono::milliseconds::max(), toldLate);
  if (!host.isOk()) return host.status();
  shared_->hosts.emplace(id.job(), std::move(host).value());
  return true;
}

void Process::endMeetings(bool (RendezvousHost::*which)() const) {
  std::vector<std::unique_ptr<RendezvousHost>> ended;  // behind the lock, because each takes a while
  const std::lock_guard lock(mutex_);
  ended.reserve(shared_->hosts.size());
  for (auto& [job, host] : shared_->hosts) {
    if ((*host.*which)()) ended.push_back(std::move(host));
  }
  std::erase_if(shared_->hosts, [](const auto& known) { return known.second == nullptr; });
}

void Process::awaitMeeting(const std::string& job, std::chrono::milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  const auto isOver = [&] {
    const std::lock_guard lock(mutex_);
    const auto host = shared_->hosts.find(job);
    return host == shared_->hosts.end() || host->second->isOver();
  };
  while (!isOver() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  std::unique_ptr<RendezvousHost> over;  // gives its descriptors back
  const std::lock_guard lock(mutex_);
  const auto host = shared_->hosts.find(job);
  if (host == shared_->hosts.end() || !host->second->isOver()) return;
  over = std::move(host->second);
  shared_->hosts.erase(host);
}

void Process::bury(std::shared_ptr<HostGroup> group) noexcept {
  if (group->sweep()) return;
  Service* service = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::list<std::shared_ptr<HostGroup>>& grave = group->grave();
    grave.front() = std::move(group);
    shared_->buried.splice(shared_->buried.end(), grave);
    service = shared_->service.get();
  }
  service->repeat([this] { return sweep(); });
}

// True: some are left.
bool Process::sweep() noexcept {
  std::list<std::shared_ptr<HostGroup>> all;  // swept and ended without the lock: it takes time
  {
    const std::lock_guard lock(mutex_);
    all.swap(shared_->buried);
  }
  std::erase_if(all, [](const std::shared_ptr<HostGroup>& group) { return group->sweep(); });
  const std::lock_guard lock(mutex_);
  shared_->buried.splice(shared_->buried.end(), all);
  return !shared_->buried.empty();
}

// Without the lock where it takes time: a fork and the service thread want it, too.
Result<void*> Process::allocate(std::size_t bytes) {
  void* pointer = nullptr;
  if (bytes == 0) return pointer;
  const auto arena = this->arena();
  Status why = statusOf(arena);
  if (arena.isOk()) {
    const auto offset = arena.value()->allocate(bytes);
    if (offset.isOk()) {
      ArenaBlock block(*arena.value(), offset.value());
      pointer = arena.value()->base() + offset.value();
      if (!arena.value()->hasHugePages()) tellOfSmallPages();
      const std::lock_guard lock(mutex_);
      allocations_.emplace(pointer, offset.value());
      block.keep();
      return pointer;
    }
    why = offset.status();
  }
  // Not in the arena it cannot be reached by other processes, but threads do not need that.
  auto memory = PageMemory::allocate(bytes);
  if (!memory.isOk()) return memory.status();
  pointer = memory.value().data();
  tellOfPrivateMemory(why);
  const std::lock_guard lock(mutex_);
  allocations_.emplace(pointer, std::move(memory).value());
  return pointer;
}

Status Process::free(void* pointer) {
  if (pointer == nullptr) return Status();
  Allocation allocation;
  Arena* arena = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(pointer);
    if (found == allocations_.end())
      return Status(Code::invalidArgument,
                    fmt::format("{} is not memory of tuttiMemAlloc, or was freed before", pointer));
    allocation = std::move(found->second);
    allocations_.erase(found);
    arena = shared_->arena.get();
  }
  // A forked child may name memory of its parent's arena, which is not its own.
  const std::uint64_t* const offset = std::get_if<std::uint64_t>(&allocation);
  if (offset != nullptr && arena != nullptr && arena->base() + *offset == pointer) arena->free(*offset);
  return Status();
}

std::uint64_t Process::nextNumber() {
  const std::lock_guard lock(mutex_);
  return number_++;
}

}  // namespace tutti
