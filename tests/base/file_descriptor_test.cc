// One owner per descriptor, and a forked child that closes what its parent has open.
#include "base/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace tutti {
namespace {

bool isOpen(int descriptor) {
  return fcntl(descriptor, F_GETFD) >= 0;
}

FileDescriptor openNull() {
  return FileDescriptor(open("/dev/null", O_RDWR | O_CLOEXEC));
}

TEST(FileDescriptor, ClosesAtTheEnd) {
  int number = -1;
  {
    const FileDescriptor descriptor = openNull();
    number = descriptor.get();
    ASSERT_TRUE(isOpen(number));
    EXPECT_TRUE(descriptor);
  }
  EXPECT_FALSE(isOpen(number));
}

// What such a thread opens has nothing to do with the number's owner in the process.
TEST(FileDescriptor, AThreadThatLeavesTheTableHasOneOfItsOwn) {
  FileDescriptor ours = openNull();
  const int number = ours.get();
  std::thread([&] {
    if (!FileDescriptor::leaveTable()) GTEST_SKIP() << "no close_range, which Linux 5.9 has";
    EXPECT_FALSE(isOpen(number));
    std::vector<FileDescriptor> own;
    while (own.empty() || own.back().get() < number) own.push_back(openNull());
  }).join();
  EXPECT_TRUE(isOpen(number));
  const pid_t child = fork();
  if (child == 0) {
    FileDescriptor::closeAllInChild();
    _exit(isOpen(number) ? 1 : 0);  // it is still known to be ours
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(FileDescriptor, None) {
  FileDescriptor none, failed(-1);
  EXPECT_FALSE(none);
  EXPECT_FALSE(failed);
  EXPECT_EQ(failed.get(), -1);
  EXPECT_EQ(failed.release(), -1);
  none = std::move(failed);
  EXPECT_FALSE(none);
}

TEST(FileDescriptor, MovesWithItsOwner) {
  FileDescriptor first = openNull();
  const int number = first.get();
  FileDescriptor second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT: moved from on purpose
  EXPECT_EQ(second.get(), number);
  FileDescriptor third = openNull();
  const int replaced = third.get();
  third = std::move(second);
  EXPECT_EQ(third.get(), number);
  EXPECT_FALSE(isOpen(replaced));
  EXPECT_TRUE(isOpen(number));
  FileDescriptor& same = third;
  third = std::move(same);
  EXPECT_EQ(third.get(), number);
}

TEST(FileDescriptor, ReleaseGivesItAway) {
  int number = -1;
  {
    FileDescriptor descriptor = openNull();
    number = descriptor.release();
    EXPECT_FALSE(descriptor);
  }
  EXPECT_TRUE(isOpen(number));
  close(number);
}

// Answers 0 or the number of the line that failed.
#define CHECK_LINE(condition)                    \
  do {                                           \
    if (!(condition)) return __LINE__ % 250 + 1; \
  } while (false)

int inChildAfterFork(std::vector<FileDescriptor>& owned, int given, int high) {
  const int first = owned.front().get();
  FileDescriptor::closeAllInChild();
  for (const FileDescriptor& descriptor : owned) CHECK_LINE(!descriptor);
  CHECK_LINE(!isOpen(first));
  CHECK_LINE(!isOpen(high));
  CHECK_LINE(isOpen(given));
  // What the child opens itself is its own, also where a number comes again that an old owner had.
  FileDescriptor own = openNull();
  CHECK_LINE(own.get() == first);
  owned.clear();
  CHECK_LINE(isOpen(first));
  own.close();
  CHECK_LINE(!isOpen(first));
  return 0;
}

TEST(FileDescriptor, AForkedChildClosesThemAll) {
  std::vector<FileDescriptor> owned;
  for (int i = 0; i < 3; ++i) owned.push_back(openNull());
  const int given = openNull().release();
  constexpr int kHigh = 900;  // in another word of the table
  ASSERT_EQ(dup2(given, kHigh), kHigh);
  owned.push_back(FileDescriptor(kHigh));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(inChildAfterFork(owned, given, kHigh));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the check that failed, in lines of this file modulo 250";
  for (const FileDescriptor& descriptor : owned) EXPECT_TRUE(isOpen(descriptor.get()));
  close(given);
}

TEST(FileDescriptor, AnyThread) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int turn = 0; turn < 500; ++turn) {
        const FileDescriptor descriptor = openNull();
        ASSERT_TRUE(isOpen(descriptor.get()));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tutti
