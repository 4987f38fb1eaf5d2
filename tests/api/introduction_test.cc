// What ranks tell each other when they join: it survives packing, garbage is refused, differences are named.
#include "api/introduction.h"

#include <gtest/gtest.h>

#include <random>

namespace tutti {
namespace {

Introduction introduction() {
  Introduction rank;
  rank.process = std::string("\0\xff 14 bytes more", 16);
  rank.pid = 4711;
  rank.stateAt = std::uint64_t{1} << 40;
  rank.algorithm = "allreduce=ring";
  rank.same = {{"one", "1"}, {"two", ""}};
  return rank;
}

TEST(Introduction, SurvivesPacking) {
  const auto read = Introduction::unpack(introduction().pack());
  ASSERT_TRUE(read.isOk());
  EXPECT_EQ(read.value().process, introduction().process);
  EXPECT_EQ(read.value().pid, 4711);
  EXPECT_EQ(read.value().stateAt, std::uint64_t{1} << 40);
  EXPECT_EQ(read.value().algorithm, "allreduce=ring");
  EXPECT_EQ(read.value().same, introduction().same);
}

TEST(Introduction, RefusesWhatIsNone) {
  const std::string good = introduction().pack();
  for (std::size_t length = 0; length < good.size(); ++length) {
    const auto read = Introduction::unpack(good.substr(0, length));
    // Whole pairs at the end may be missing: then the settings differ.
    if (read.isOk()) {
      EXPECT_LT(read.value().same.size(), 2u) << length;
    }
  }
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = good;
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    static_cast<void>(Introduction::unpack(bytes));  // no crash, whatever it answers
  }
  EXPECT_FALSE(Introduction::unpack("").isOk());
  EXPECT_FALSE(Introduction::unpack(good + "x").isOk());
}

// Whatever another version sends behind its number.
TEST(Introduction, AnotherVersionIsNamed) {
  const std::string version = libraryVersion();
  std::string bytes = introduction().pack();
  const std::size_t at = bytes.find(version);
  ASSERT_EQ(at, 4u);
  bytes = bytes.substr(0, at) + "9.9.9" + "what nobody knows yet";
  ASSERT_EQ(version.size(), 5u);
  const auto read = Introduction::unpack(bytes);
  ASSERT_TRUE(read.isOk()) << read.status().message();
  EXPECT_EQ(read.value().version, "9.9.9");
  EXPECT_EQ(read.value().process, "");
  std::vector<Introduction> ranks(4, introduction());
  ranks[3] = read.value();
  EXPECT_EQ(compareSettings(ranks).code(), Code::invalidArgument);
  EXPECT_EQ(compareSettings(ranks).message(),
            "ranks 0-2 run tutti " + version + ", rank 3 runs tutti 9.9.9: use one version in all processes");
}

TEST(Introduction, NamesTheSettingThatDiffers) {
  std::vector<Introduction> ranks(4, introduction());
  EXPECT_TRUE(compareSettings(ranks).isOk());
  ranks[2].same[1].second = "x";
  ranks[3].algorithm = "only rank 0's counts";
  const Status differ = compareSettings(ranks);
  EXPECT_EQ(differ.code(), Code::invalidArgument);
  EXPECT_EQ(differ.message(), "two has to be the same on all ranks. ranks 0, 1, 3: ''; rank 2: 'x'");
  ranks[2] = introduction();
  ranks[1].same.pop_back();
  EXPECT_NE(compareSettings(ranks).message().find("rank 1: another list of settings"), std::string::npos);
}

}  // namespace
}  // namespace tutti
