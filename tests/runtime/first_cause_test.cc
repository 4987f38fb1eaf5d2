// One cause whoever comes first, in memory that starts as zeros.
#include "runtime/first_cause.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

namespace tutti {
namespace {

TEST(FirstCause, IsCutWhereItIsTooLong) {
  const auto cause = std::make_unique<FirstCause>();
  cause->set(0, Status(Code::mismatch, std::string(FirstCause::kMostBytes + 5, 'x')));
  EXPECT_EQ(cause->get().code(), Code::mismatch);
  EXPECT_EQ(cause->get().message(), std::string(FirstCause::kMostBytes, 'x'));
}

TEST(FirstCause, StaysWhenAProcessDiesLater) {
  const auto cause = std::make_unique<FirstCause>();
  cause->set(3, Status(Code::timeout, "slow"));
  cause->setAfterDeath(3, 1, Status(Code::remoteError, "dead"));
  EXPECT_EQ(cause->get().message(), "slow");
}

struct Claimable : FirstCause {
  using FirstCause::claim;
};

// Zeroed memory that two processes share is enough; one that dies while it sets the cause does not keep the other
// from having one.
TEST(FirstCause, OfAProcessThatDiedWhileSettingIt) {
  void* const memory =
      mmap(nullptr, sizeof(Claimable), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const cause = static_cast<Claimable*>(memory);
  const pid_t child = fork();
  if (child == 0) _exit(cause->claim(3) ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  cause->setAfterDeath(2, 0, Status(Code::remoteError, "2 is dead"));  // not the one that was setting it
  EXPECT_EQ(cause->poison().load(), 0u);
  cause->forget(3);
  EXPECT_TRUE(cause->claim(3));
  cause->setAfterDeath(3, 0, Status(Code::remoteError, "3 is dead"));
  EXPECT_EQ(cause->get().message(), "3 is dead");
  cause->setAfterDeath(3, 1, Status(Code::remoteError, "3 is dead, says another"));
  EXPECT_EQ(cause->get().message(), "3 is dead");
  munmap(memory, sizeof(Claimable));
}

}  // namespace
}  // namespace tutti
