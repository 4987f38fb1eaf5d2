// What is there before the first call, so that no fork can come between its making and its use; and what is made later,
// but without a lock.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>

#include "api/process.h"
#include "kernels/reduce_copy.h"

namespace {

std::atomic<bool> isAsked{false};
std::atomic<bool> mayAnswer{false};

}  // namespace

// In place of Highway's: takes its time.
namespace hwy {

std::int64_t SupportedTargets();
std::int64_t SupportedTargets() {
  isAsked = true;
  while (!mayAnswer) std::this_thread::yield();
  return 1;
}

}  // namespace hwy

namespace tutti {
namespace {

// It counts forks, of a process that has not used the library yet, too.
TEST(Load, MakesTheProcess) {
  const pid_t child = fork();
  if (child == 0) _exit(Process::forks());
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST(Load, AForkWhileAThreadAsksTheProcessorHoldsNobodyUp) {
  std::thread asks([] { reduceCopyFor(DataType::f32, Operation::sum); });
  while (!isAsked) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    mayAnswer = true;
    _exit(reduceCopyFor(DataType::f32, Operation::sum) != nullptr ? 0 : 1);
  }
  mayAnswer = true;
  asks.join();
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tutti
