// How ranks are listed in messages.
#include "runtime/rank_list.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(RankList, ThreeInARowAreARange) {
  EXPECT_EQ(rankList({3}), "rank 3");
  EXPECT_EQ(rankList({3, 5}), "ranks 3, 5");
  EXPECT_EQ(rankList({0, 1}), "ranks 0, 1");
  EXPECT_EQ(rankList({0, 1, 2}), "ranks 0-2");
  EXPECT_EQ(rankList({0, 1, 5, 6, 7, 9}), "ranks 0, 1, 5-7, 9");
}

}  // namespace
}  // namespace tutti
