// bench/common/forced: a bare name means the collective that is measured.
#include "common/forced.h"

#include <gtest/gtest.h>

namespace tutti::bench {
namespace {

TEST(ForcedAlgorithms, BareNamesMeanTheMeasuredCollective) {
  EXPECT_EQ(forcedAlgorithms(Kind::allReduce, ""), "");
  EXPECT_EQ(forcedAlgorithms(Kind::allReduce, "ring"), "allreduce=ring");
  EXPECT_EQ(forcedAlgorithms(Kind::broadcast, "chain"), "broadcast=chain");
  EXPECT_EQ(forcedAlgorithms(Kind::reduce, "chain"), "reduce=chain");
  EXPECT_EQ(forcedAlgorithms(Kind::reduceScatter, "ring"), "reducescatter=ring");
  EXPECT_EQ(forcedAlgorithms(Kind::allGather, "ring"), "allgather=ring");
}

TEST(ForcedAlgorithms, ListsStayAsTheyAre) {
  EXPECT_EQ(forcedAlgorithms(Kind::allReduce, "reduce=chain,barrier=oneshot"),
            "reduce=chain,barrier=oneshot");
  EXPECT_EQ(forcedAlgorithms(Kind::allReduce, "barrier=oneshot,ring"), "barrier=oneshot,allreduce=ring");
}

// The library refuses an empty name; it must get to see it.
TEST(ForcedAlgorithms, NonsenseIsPassedOn) {
  EXPECT_EQ(forcedAlgorithms(Kind::allReduce, ",ring"), "allreduce=,allreduce=ring");
  EXPECT_EQ(forcedAlgorithms(Kind::allReduce, "="), "=");
}

}  // namespace
}  // namespace tutti::bench
