// Ranks of one process on their way into one communicator: one makes what they share, and nothing stays behind.
#include "api/shared_groups.h"

#include <gtest/gtest.h>

#include <new>
#include <optional>

namespace tutti {
namespace {

TEST(SharedGroups, AFailureIsEverybodysAndNothingStays) {
  SharedGroups groups;
  int tries = 0;
  const auto make = [&]() -> std::shared_ptr<HostGroup> {
    ++tries;
    throw std::bad_alloc();
  };
  {
    std::optional<SharedGroups::Place> first;
    first.emplace(groups, "job");
    SharedGroups::Place second(groups, "job");
    SharedGroups::Place other(groups, "another job");
    EXPECT_EQ(first->take(make), nullptr);
    EXPECT_EQ(second.take(make), nullptr);
    EXPECT_EQ(tries, 1);
    EXPECT_EQ(other.take(make), nullptr);
    EXPECT_EQ(tries, 2);
    first.reset();
    EXPECT_EQ(second.take(make), nullptr);
    EXPECT_EQ(tries, 2);
  }
  EXPECT_TRUE(groups.isEmpty());
}

}  // namespace
}  // namespace tutti
