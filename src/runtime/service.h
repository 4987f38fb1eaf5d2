// The thread of a process that sleeps until something happens to another process, or until memory that others
// still use can be given back. One per process, whatever number of communicators there are.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace tutti {

// Any thread, unless said otherwise.
class Service {
 public:
  using WatchId = std::uint64_t;

  // systemError: no descriptor, no thread.
  static Result<std::unique_ptr<Service>> start();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  // In a forked child, where the thread is not, it does nothing.
  ~Service();

  // `ended` runs once, on the service's thread, when the process of the pidfd has ended. It must not throw.
  Result<WatchId> watch(FileDescriptor pidfd, std::function<void()> ended);

  // When it returns, `ended` does not run and will not. Called from within `ended` it does not wait for it.
  void forget(WatchId watch);

  // Runs `work` on the service's thread, now and every kPeriod until it answers false. There is one such work: a
  // further call takes the place of the one before. It must not throw.
  void repeat(std::function<bool()> work);
  static constexpr std::chrono::milliseconds kPeriod{20};

 private:
  struct Watch {
    FileDescriptor pidfd;
    std::function<void()> ended;
  };

  Service(FileDescriptor poll, FileDescriptor bell);
  void run();
  void ring();
  void processEnded(WatchId watch);
  void drop(std::map<WatchId, Watch>::iterator watch);
  void doWork();

  const int owner_;
  const FileDescriptor poll_;
  const FileDescriptor bell_;  // an eventfd: look at what is below
  std::mutex mutex_;           // guards what follows
  std::condition_variable idle_;
  std::map<WatchId, Watch> watches_;
  WatchId next_ = 1;
  WatchId running_ = 0;
  std::function<bool()> work_;
  std::uint64_t worksAsked_ = 0;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace tutti
