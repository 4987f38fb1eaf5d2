// Each refusal of the system comes with what helps against it, and against nothing else.
#include "base/refused.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tutti {
namespace {

TEST(Refused, SaysWhatFailedAndWhatHelps) {
  const Status status = refused("no pidfd", "pidfd_open", EPERM);
  EXPECT_EQ(status.code(), Code::systemError);
  EXPECT_EQ(status.message(),
            "no pidfd: pidfd_open failed: Operation not permitted. Allow pidfd_open to this process: a "
            "seccomp filter of the container may refuse it");
}

TEST(Refused, EachErrorHasItsRemedy) {
  const auto has = [](int error, const char* part) {
    return remedyFor("call", error).find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(EMFILE, "ulimit -n"));
  EXPECT_TRUE(has(ENFILE, "fs.file-max"));
  EXPECT_TRUE(has(ENOMEM, "Free memory"));
  EXPECT_TRUE(has(EAGAIN, "ulimit -u"));
  EXPECT_TRUE(has(ENOSYS, "Linux 5.3"));
  EXPECT_TRUE(has(EACCES, "Allow call"));
  for (const int other : {EPERM, ENOMEM, ENOSYS, EINVAL}) EXPECT_FALSE(has(other, "ulimit")) << other;
}

}  // namespace
}  // namespace tutti
