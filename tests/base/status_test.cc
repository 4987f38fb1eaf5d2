// How functions answer: a code with a text, or nothing; passed on by one macro.
#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tutti {
namespace {

TEST(Status, IsOkByDefault) {
  const Status status;
  EXPECT_TRUE(status.isOk());
  EXPECT_EQ(status.code(), Code::ok);
  EXPECT_EQ(status.message(), "");
}

TEST(Status, IsCopiedAndMovedWhole) {
  const Status failure(Code::timeout, "late");
  Status copy = failure;
  EXPECT_EQ(copy.code(), Code::timeout);
  EXPECT_EQ(copy.message(), "late");
  Status moved = std::move(copy);
  EXPECT_EQ(moved.message(), "late");
  copy = failure;
  EXPECT_EQ(copy.message(), "late");
  const Status& same = copy;
  copy = same;
  EXPECT_EQ(copy.message(), "late");
  copy = Status();
  EXPECT_TRUE(copy.isOk());
  moved = copy;
  EXPECT_TRUE(moved.isOk());
}

Status passOn(const Status& status, bool& reached) {
  TUTTI_TRY(status);
  reached = true;
  return Status();
}

TEST(Status, TryReturnsFailuresOnly) {
  bool reached = false;
  EXPECT_EQ(passOn(Status(Code::broken, "x"), reached).code(), Code::broken);
  EXPECT_FALSE(reached);
  EXPECT_TRUE(passOn(Status(), reached).isOk());
  EXPECT_TRUE(reached);
}

TEST(Result, HoldsAValueOrAStatus) {
  Result<std::unique_ptr<int>> value(std::make_unique<int>(3));
  ASSERT_TRUE(value.isOk());
  EXPECT_TRUE(statusOf(value.status()).isOk());
  const std::unique_ptr<int> taken = std::move(value).value();
  EXPECT_EQ(*taken, 3);
  const Result<int> failure(Status(Code::mismatch, "no"));
  EXPECT_FALSE(failure.isOk());
  EXPECT_EQ(failure.status().message(), "no");
}

TEST(Code, HasANameForEach) {
  EXPECT_STREQ(nameOf(Code::invalidArgument), "invalid argument");
  EXPECT_STREQ(nameOf(static_cast<Code>(99)), "unknown result");
}

}  // namespace
}  // namespace tutti
