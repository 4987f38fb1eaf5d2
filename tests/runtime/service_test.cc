// The service thread: it tells the end of processes once, forgets in time, repeats work while there is some, and
// sleeps otherwise.
#include "runtime/service.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace tutti {
namespace {

using namespace std::chrono_literals;

template <class Condition>
bool comesTrue(const Condition& condition) {
  for (int i = 0; i < 2000 && !condition(); ++i) std::this_thread::sleep_for(5ms);
  return condition();
}

class ServiceTest : public testing::Test {
 protected:
  ServiceTest() : service_(std::move(Service::start()).value()) {}

  // A process that does nothing until it is killed.
  struct Sleeper {
    Sleeper() : pid(fork()) {
      if (pid == 0) {
        pause();
        _exit(0);
      }
    }
    ~Sleeper() { end(); }
    void end() {
      if (ended) return;
      ended = true;
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    FileDescriptor pidfd() const { return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

    pid_t pid;
    bool ended = false;
  };

  std::unique_ptr<Service> service_;
};

TEST_F(ServiceTest, TellsTheEndOfAProcessOnce) {
  Sleeper first;
  Sleeper second;
  std::atomic<int> ends{0};
  ASSERT_TRUE(service_->watch(first.pidfd(), [&] { ends += 1; }).isOk());
  ASSERT_TRUE(service_->watch(second.pidfd(), [&] { ends += 100; }).isOk());
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(ends, 0);
  second.end();
  EXPECT_TRUE(comesTrue([&] { return ends == 100; })) << ends;
  first.end();
  EXPECT_TRUE(comesTrue([&] { return ends == 101; })) << ends;
}

TEST_F(ServiceTest, TellsOfAProcessThatHasEndedAlready) {
  Sleeper sleeper;
  FileDescriptor pidfd = sleeper.pidfd();
  sleeper.end();
  std::atomic<bool> ended{false};
  ASSERT_TRUE(service_->watch(std::move(pidfd), [&] { ended = true; }).isOk());
  EXPECT_TRUE(comesTrue([&] { return ended.load(); }));
}

TEST_F(ServiceTest, ForgetsBeforeItReturns) {
  for (int round = 0; round < 50; ++round) {
    Sleeper sleeper;
    auto here = std::make_unique<std::atomic<int>>(0);
    const auto watch = service_->watch(sleeper.pidfd(), [own = here.get()] {
      ++*own;
      std::this_thread::sleep_for(1ms);
      ++*own;
    });
    ASSERT_TRUE(watch.isOk());
    if (round % 2 == 0) sleeper.end();
    service_->forget(watch.value());
    EXPECT_NE(*here, 1) << "it still ran";
    here.reset();  // address sanitizer would see a late one
  }
}

TEST_F(ServiceTest, MayBeForgottenFromWithin) {
  Sleeper sleeper;
  std::atomic<bool> done{false};
  std::atomic<Service::WatchId> id{0};
  const auto watch = service_->watch(sleeper.pidfd(), [&] {
    while (id == 0) std::this_thread::yield();
    service_->forget(id);
    done = true;
  });
  ASSERT_TRUE(watch.isOk());
  id = watch.value();
  sleeper.end();
  EXPECT_TRUE(comesTrue([&] { return done.load(); }));
}

TEST_F(ServiceTest, RepeatsWorkUntilThereIsNone) {
  std::atomic<int> turns{0};
  service_->repeat([&] { return ++turns < 5; });
  EXPECT_TRUE(comesTrue([&] { return turns == 5; }));
  std::this_thread::sleep_for(4 * Service::kPeriod);
  EXPECT_EQ(turns, 5);
  service_->repeat([&] { return ++turns < 8; });
  EXPECT_TRUE(comesTrue([&] { return turns == 8; }));
}

TEST_F(ServiceTest, SleepsWhenThereIsNothingToDo) {
  Sleeper sleeper;
  ASSERT_TRUE(service_->watch(sleeper.pidfd(), [] {}).isOk());
  std::this_thread::sleep_for(20ms);
  const auto used = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  // A busy machine makes some seconds dearer, a thread that does not sleep all of them.
  double least = 1;
  for (int second = 0; second < 10 && least >= 0.01; ++second) {
    const double before = used();
    std::this_thread::sleep_for(1s);
    least = std::min(least, used() - before);
  }
  EXPECT_LT(least, 0.01);
}

}  // namespace
}  // namespace tutti
