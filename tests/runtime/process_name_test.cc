// Other processes are named by the pid under which the reader finds them.
#include "runtime/process_name.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file_descriptor.h"

namespace tutti {
namespace {

TEST(ProcessName, SaysWhatTheReaderCanLookUp) {
  EXPECT_EQ(processName(1234, 1234), "1234");
  EXPECT_EQ(processName(7, 1234), "1234, 7 in its own pid namespace");
  EXPECT_EQ(processName(7, 0), "7 of another pid namespace");
  EXPECT_EQ(processName(7, {}), "7");
}

TEST(ProcessName, TheKernelKnowsThePidOfALivingProcess) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const FileDescriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  EXPECT_EQ(pidSeen(pidfd.get()), child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(pidSeen(pidfd.get()).has_value());
  EXPECT_FALSE(pidSeen(-1).has_value());
}

}  // namespace
}  // namespace tutti
