// The directory of a communicator's links: one word for each, written once; and when memory may go.
#include "transport/shared/link_directory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tutti {
namespace {

class LinkDirectoryTest : public testing::Test {
 protected:
  std::byte* memoryFor(int nranks, int channels = LinkDirectory::kChannels) {
    words_.assign(LinkDirectory::bytesFor(nranks, channels) / sizeof(std::uint64_t), 0);
    return reinterpret_cast<std::byte*>(words_.data());
  }

  std::vector<std::uint64_t> words_;
};

TEST_F(LinkDirectoryTest, HasAPlaceOfItsOwnForEachLink) {
  constexpr int kRanks = 5;
  LinkDirectory directory(memoryFor(kRanks, 3), kRanks, 3);
  const auto forEach = [](auto visit) {
    int count = 0;
    for (int from = 0; from < kRanks; ++from) {
      for (int to = 0; to < kRanks; ++to) {
        for (int channel = 0; channel < 3; ++channel) {
          for (const MailboxFormat format : {MailboxFormat::slots, MailboxFormat::lines})
            visit(LinkName{from, to, channel, format}, ++count);
        }
      }
    }
    return count;
  };
  forEach([&](const LinkName& name, int count) {
    ASSERT_TRUE(directory.hasRoomFor(name));
    ASSERT_EQ(directory.find(name), std::nullopt);
    const LinkPlace place = {count, static_cast<std::uint64_t>(count) * 4096};
    ASSERT_EQ(directory.publish(name, place), place);
  });
  const int links = forEach([&](const LinkName& name, int count) {
    const LinkPlace place = {count, static_cast<std::uint64_t>(count) * 4096};
    ASSERT_EQ(directory.find(name), place);
    ASSERT_EQ(directory.publish(name, {1, 0}), place) << "the first one stays";
  });
  EXPECT_EQ(words_.size(), static_cast<std::size_t>(kRanks + links));
  // Nobody has left.
  EXPECT_FALSE(directory.allLeft());
}

TEST_F(LinkDirectoryTest, HoldsTheFirstAndTheLastPlace) {
  LinkDirectory directory(memoryFor(2), 2);
  const LinkPlace first = {0, 0};
  const LinkPlace last = {(1 << 20), ((std::uint64_t{1} << 40) - 1) * 4096};
  EXPECT_EQ(directory.publish({0, 1}, first), first);
  EXPECT_EQ(directory.find({0, 1}), first);
  EXPECT_EQ(directory.publish({1, 0}, last), last);
  EXPECT_EQ(directory.find({1, 0}), last);
}

TEST_F(LinkDirectoryTest, HasNoRoomForOthers) {
  const LinkDirectory directory(memoryFor(2), 2);
  EXPECT_TRUE(directory.hasRoomFor({1, 1, LinkDirectory::kChannels - 1, MailboxFormat::lines}));
  for (const LinkName& name : {LinkName{-1, 0},
                               {0, -1},
                               {2, 0},
                               {0, 2},
                               {0, 1, -1},
                               {0, 1, LinkDirectory::kChannels},
                               {0, 1, 0, MailboxFormat::words}})
    EXPECT_FALSE(directory.hasRoomFor(name)) << name.from << name.to << name.channel;
}

TEST_F(LinkDirectoryTest, KnowsWhenAllHaveLeftAndForgot) {
  LinkDirectory directory(memoryFor(3), 3);
  directory.leave(0);
  directory.leave(2);
  directory.leave(2);
  EXPECT_FALSE(directory.allLeft());
  directory.leave(1);
  EXPECT_TRUE(directory.allLeft());
  EXPECT_FALSE(directory.allForgot());
  directory.forget(0);
  directory.forget(1);
  EXPECT_TRUE(directory.allLeft());
  EXPECT_FALSE(directory.allForgot());
  directory.forget(2);
  EXPECT_TRUE(directory.allForgot());
}

// For whom another one speaks, because it is dead.
TEST_F(LinkDirectoryTest, ForgettingIsLeavingToo) {
  LinkDirectory directory(memoryFor(2), 2);
  directory.forget(1);
  directory.leave(1);
  directory.leave(0);
  EXPECT_TRUE(directory.allLeft());
  directory.forget(0);
  EXPECT_TRUE(directory.allForgot());
}

}  // namespace
}  // namespace tutti
