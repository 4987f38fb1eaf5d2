// bench/common/sizes: byte sizes as people write them, and the counts that a range of sizes stands for.
#include "common/sizes.h"

#include <gtest/gtest.h>

namespace tutti::bench {
namespace {

TEST(Sizes, ParseBytes) {
  EXPECT_EQ(parseBytes("0"), 0u);
  EXPECT_EQ(parseBytes("4096"), 4096u);
  EXPECT_EQ(parseBytes("64K"), 65536u);
  EXPECT_EQ(parseBytes("64kb"), 65536u);
  EXPECT_EQ(parseBytes("1.5M"), 1572864u);
  EXPECT_EQ(parseBytes("2G"), std::size_t{2} << 30);
  EXPECT_EQ(parseBytes("1t"), std::size_t{1} << 40);
  for (const char* text : {"", "K", "-1", "1P", "8X", "0x10", "1.5", "7 ", " 7", "nan", "inf",
                           "9223372036854775808", "9000000000G", "9000000T", "1KK"}) {
    EXPECT_FALSE(parseBytes(text)) << text;
  }
}

const Collective kAllReduce{Kind::allReduce, "all_reduce", "", "", nullptr, nullptr};
const Collective kAllGather{Kind::allGather, "all_gather", "", "", nullptr, nullptr};

Options range(std::size_t min, std::size_t max, int ranks) {
  Options options{};
  options.minBytes = min;
  options.maxBytes = max;
  options.ranks = ranks;
  options.stepBytes = 1 << 20;
  return options;
}

using List = std::vector<std::size_t>;

TEST(Sizes, ByFactor) {
  Options options = range(8, 600, 4);
  options.factor = 4;
  EXPECT_EQ(countsFor(kAllReduce, options, tuttiFloat32).counts, (List{2, 8, 32, 128}));
}

TEST(Sizes, SmallFactorAlwaysGrows) {
  Options options = range(1, 4, 2);
  options.factor = 1.01;
  EXPECT_EQ(countsFor(kAllReduce, options, tuttiInt8).counts, (List{1, 2, 3, 4}));
}

TEST(Sizes, ByStep) {
  Options options = range(0, 16, 4);
  options.stepBytes = 8;
  EXPECT_EQ(countsFor(kAllReduce, options, tuttiFloat32).counts, (List{0, 2, 4}));
}

TEST(Sizes, BlocksAreRoundedDownButNeverAway) {
  Options options = range(8, 128, 4);
  options.factor = 2;  // 8, 16 bytes: one element a block; 32, 64, 128 bytes: 2, 4, 8
  EXPECT_EQ(countsFor(kAllGather, options, tuttiFloat32).counts, (List{1, 2, 4, 8}));
}

TEST(Sizes, SmallerThanAnElement) {
  EXPECT_NE(countsFor(kAllReduce, range(4, 4, 2), tuttiFloat64).error, "");
  EXPECT_EQ(countsFor(kAllReduce, range(4, 4, 2), tuttiFloat32).error, "");
}

TEST(Sizes, TooManySizesAndTheEndOfNumbers) {
  Options options = range(1, 1 << 20, 2);
  options.stepBytes = 1;
  EXPECT_NE(countsFor(kAllReduce, options, tuttiInt8).error, "");
  options = range(std::size_t{1} << 60, (std::size_t{1} << 63) - 1024, 2);
  options.factor = 8;
  EXPECT_EQ(countsFor(kAllReduce, options, tuttiInt8).counts.size(), 1u);
}

}  // namespace
}  // namespace tutti::bench
