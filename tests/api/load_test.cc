// What is there before the first call, so that no fork can come between its making and its use.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/process.h"

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

}  // namespace
}  // namespace tutti
