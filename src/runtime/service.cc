// See service.h.
#include "runtime/service.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/quiet_thread.h"
#include "base/refused.h"

namespace tutti {
namespace {

constexpr Service::WatchId kBell = 0;
constexpr const char* kNone = "no service thread";

int add(const FileDescriptor& poll, const FileDescriptor& descriptor, Service::WatchId id) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = id;
  return epoll_ctl(poll.get(), EPOLL_CTL_ADD, descriptor.get(), &event);
}

}  // namespace

Service::Service(FileDescriptor poll, FileDescriptor bell)
    : owner_(getpid()), poll_(std::move(poll)), bell_(std::move(bell)) {}

Result<std::unique_ptr<Service>> Service::start() {
  FileDescriptor poll(epoll_create1(EPOLL_CLOEXEC));
  if (!poll) return refused(kNone, "epoll_create1", errno);
  FileDescriptor bell(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return refused(kNone, "eventfd", errno);
  std::unique_ptr<Service> service(new Service(std::move(poll), std::move(bell)));
  if (add(service->poll_, service->bell_, kBell) != 0) return refused(kNone, "epoll_ctl", errno);
  try {
    service->thread_ = quietThread([own = service.get()] { own->run(); });
  } catch (const std::system_error& error) {
    return refused(kNone, "pthread_create", error.code().value());
  }
  pthread_setname_np(service->thread_.native_handle(), "tutti-service");
  return service;
}

Service::~Service() {
  if (!thread_.joinable()) return;
  if (getpid() != owner_) {
    thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  ring();
  thread_.join();
}

void Service::ring() {
  const std::uint64_t one = 1;
  // It fails only when the counter is full, and then the bell rings already.
  [[maybe_unused]] const ssize_t written = write(bell_.get(), &one, sizeof(one));
}

Result<Service::WatchId> Service::watch(FileDescriptor pidfd, std::function<void()> ended) {
  const std::lock_guard lock(mutex_);
  const WatchId id = next_++;
  Watch& watch = watches_[id];
  watch = {std::move(pidfd), std::move(ended)};
  if (add(poll_, watch.pidfd, id) == 0) return id;
  const Status failure = refused("a peer cannot be watched", "epoll_ctl", errno);
  watches_.erase(id);
  return failure;
}

void Service::forget(WatchId watch) {
  std::unique_lock lock(mutex_);
  const auto found = watches_.find(watch);
  if (found != watches_.end()) drop(found);
  if (std::this_thread::get_id() == thread_.get_id()) return;
  idle_.wait(lock, [&] { return running_ != watch; });
}

void Service::repeat(std::function<bool()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    ++worksAsked_;
  }
  ring();
}

// Closing the descriptor would not take it out of the epoll set: other processes hold the same pidfd.
void Service::drop(std::map<WatchId, Watch>::iterator watch) {
  epoll_ctl(poll_.get(), EPOLL_CTL_DEL, watch->second.pidfd.get(), nullptr);
  watches_.erase(watch);
}

void Service::processEnded(WatchId id) {
  std::function<void()> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    ended = std::move(found->second.ended);
    drop(found);
    running_ = id;
  }
  ended();
  {
    const std::lock_guard lock(mutex_);
    running_ = 0;
  }
  idle_.notify_all();
}

void Service::doWork() {
  std::function<bool()> work;
  std::uint64_t asked = 0;
  {
    const std::lock_guard lock(mutex_);
    work = work_;
    asked = worksAsked_;
  }
  if (!work || work()) return;
  const std::lock_guard lock(mutex_);
  if (asked == worksAsked_) work_ = nullptr;
}

void Service::run() {
  for (;;) {
    int timeout = -1;
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
      if (work_) timeout = static_cast<int>(kPeriod.count());
    }
    std::array<epoll_event, 16> events;
    const int n = epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), timeout);
    for (int i = 0; i < n; ++i) {
      if (events[static_cast<std::size_t>(i)].data.u64 != kBell) {
        processEnded(events[static_cast<std::size_t>(i)].data.u64);
        continue;
      }
      std::uint64_t rung = 0;
      [[maybe_unused]] const ssize_t taken = read(bell_.get(), &rung, sizeof(rung));
    }
    doWork();
  }
}

}  // namespace tutti
