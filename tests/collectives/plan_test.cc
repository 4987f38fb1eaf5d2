// The cut of a call into rounds and blocks tiles its elements, fits its slots and is the same on every rank;
// plans are made once for each kind of call.
#include "collectives/plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "schedule_set.h"
#include "transport/inprocess/links.h"

namespace tutti {
namespace {

TEST(MakeCut, TilesEveryCount) {
  for (const std::uint64_t count : {0ull, 1ull, 2ull, 63ull, 64ull, 65ull, 997ull, 4096ull, 100'003ull}) {
    for (const std::uint32_t blocks : {1u, 2u, 3u, 7u, 8u, 64u}) {
      for (const std::uint64_t capacity : {0ull, 1ull, 3ull, 15ull, 16ull, 17ull, 1000ull, 65'536ull}) {
        for (const std::uint32_t bytes : {1u, 2u, 4u, 8u, 16u}) {
          const Cut cut = makeCut(count, blocks, capacity, bytes);
          SCOPED_TRACE(std::to_string(count) + " in " + std::to_string(blocks) + " blocks of " +
                       std::to_string(capacity) + ", " + std::to_string(bytes) + " bytes");
          ASSERT_GE(cut.rounds, 1u);
          if (capacity == 0) {
            ASSERT_EQ(cut.rounds, 1u);
          }
          std::uint64_t at = 0;
          for (std::uint32_t round = 0; round < cut.rounds; ++round) {
            const RoundCut one = roundOf(cut, round);
            ASSERT_EQ(one.begin, at);
            ASSERT_TRUE(count == 0 || one.elements > 0) << "an empty round";
            for (std::uint32_t block = 0; block < blocks; ++block) {
              const Extent extent = extentOf(one, block, 1);
              ASSERT_EQ(extent.begin, at);
              ASSERT_GE(extent.end, extent.begin);
              ASSERT_TRUE(capacity == 0 || extent.end - extent.begin <= capacity);
              if (cut.granule > 1 && extent.begin != extent.end) {
                ASSERT_EQ((extent.begin - one.begin) % cut.granule, 0u);
                ASSERT_EQ(extent.begin * bytes % 64, 0u) << "not on a cache line";
              }
              at = extent.end;
            }
            // Several blocks together are what they are one by one.
            const Extent all = extentOf(one, 0, blocks);
            ASSERT_EQ(all.begin, one.begin);
            ASSERT_EQ(all.end, at);
          }
          ASSERT_EQ(at, count);
          const RoundCut beyond = roundOf(cut, cut.rounds);
          ASSERT_EQ(beyond.elements, 0u);
        }
      }
    }
  }
}

TEST(MakeCut, LargeBlocksStartOnCacheLines) {
  EXPECT_EQ(makeCut(1 << 20, 4, 10'000, 4).granule, 16u);
  EXPECT_EQ(makeCut(1 << 20, 4, 10'000, 1).granule, 64u);
  EXPECT_EQ(makeCut(100, 4, 10'000, 4).granule, 1u);
}

TEST(MakeCut, HugeCounts) {
  const Cut cut = makeCut(std::uint64_t{1} << 40, 8, 65'536, 1);
  const RoundCut last = roundOf(cut, cut.rounds - 1);
  EXPECT_EQ(last.begin + last.elements, std::uint64_t{1} << 40);
  EXPECT_GT(last.elements, 0u);
}

class Plans : public testing::TestWithParam<Served> {};

// Ranks that cut differently would wait for messages of other sizes for ever; a leaf of a tree sends raw
// elements while the ranks behind it send wider partial sums.
TEST_P(Plans, AllRanksCutAlike) {
  const auto [algorithm, collective] = GetParam();
  for (int nranks = 2; nranks <= 9; ++nranks) {
    for (int root = 0; root < (isRooted(collective) ? nranks : 1); ++root) {
      LinkOptions options;
      options.slotBytes = 1024;
      const auto hub = std::make_shared<InProcessHub>(options);
      for (const auto& [type, operation] :
           {std::pair(DataType::f16, Operation::sum), std::pair(DataType::f32, Operation::max),
            std::pair(DataType::u8, Operation::avg), std::pair(DataType::i64, Operation::avg)}) {
        const std::uint32_t formBytes[3] = {static_cast<std::uint32_t>(bytesOf(type)),
                                            static_cast<std::uint32_t>(accumulationBytesOf(type, operation)),
                                            static_cast<std::uint32_t>(bytesOf(type))};
        std::vector<Cut> cuts;
        for (int rank = 0; rank < nranks; ++rank) {
          InProcessLinks links(hub, rank);
          const auto plan =
              Plan::make({collective, algorithm, rank, nranks, root, 1}, MailboxFormat::slots, links);
          ASSERT_TRUE(plan.isOk()) << plan.status().message();
          const auto cut = plan.value()->cut(100'003, formBytes, 0);
          ASSERT_TRUE(cut.isOk()) << cut.status().message();
          cuts.push_back(cut.value());
          EXPECT_EQ(plan.value()->flat().blocksPerSegment, static_cast<int>(cuts[0].blocks));
          EXPECT_EQ(cuts.back().rounds, cuts[0].rounds) << "rank " << rank << " of " << nranks;
          EXPECT_EQ(cuts.back().roundElements, cuts[0].roundElements);
          EXPECT_EQ(cuts.back().granule, cuts[0].granule);
          // Every message of this rank fits.
          for (std::size_t form = 0; form < 3; ++form) {
            const auto blocks = static_cast<std::uint64_t>(plan.value()->flat().mostLinkBlocks[form]);
            const RoundCut round = roundOf(cuts.back(), 0);
            EXPECT_LE(blocks * round.blockSize * formBytes[form], options.slotBytes);
          }
        }
      }
    }
  }
}

std::string pairNameOf(const testing::TestParamInfo<Served>& info) {
  return testNameOf(info.param);
}

std::vector<Served> pairs() {
  std::vector<Served> pairs;
  for (const Served& pair : allServed()) {
    if (pair.algorithm != Algorithm::none) pairs.push_back(pair);
  }
  return pairs;
}

INSTANTIATE_TEST_SUITE_P(Pairs, Plans, testing::ValuesIn(pairs()), pairNameOf);

TEST(Planner, MakesAPlanOnceForEachKindOfCall) {
  const auto hub = std::make_shared<InProcessHub>(LinkOptions());
  InProcessLinks links(hub, 0);
  Planner planner(0, 4, links);
  const Choice ring{Algorithm::ring, MailboxFormat::slots, 1, 0, ""};
  const Choice lines{Algorithm::oneShot, MailboxFormat::lines, 1, 0, ""};
  Plan* const first = planner.planFor(Collective::allReduce, 0, ring).value();
  Plan* const second = planner.planFor(Collective::allReduce, 0, lines).value();
  EXPECT_NE(first, second);
  EXPECT_EQ(planner.planFor(Collective::allReduce, 0, ring).value(), first);
  EXPECT_EQ(planner.planFor(Collective::allReduce, 0, lines).value(), second);
  EXPECT_NE(planner.planFor(Collective::allGather, 0, ring).value(), first);
  const Choice tree{Algorithm::binomial, MailboxFormat::slots, 1, 0, ""};
  Plan* const fromZero = planner.planFor(Collective::broadcast, 0, tree).value();
  EXPECT_NE(planner.planFor(Collective::broadcast, 1, tree).value(), fromZero);
  EXPECT_EQ(planner.planFor(Collective::broadcast, 0, tree).value(), fromZero);
  const std::uint64_t bytes = hub->mailboxBytes();
  planner.planFor(Collective::broadcast, 0, tree).value();
  EXPECT_EQ(hub->mailboxBytes(), bytes);
}

TEST(Planner, LinesCarryClosedSchedulesOnly) {
  const auto hub = std::make_shared<InProcessHub>(LinkOptions());
  InProcessLinks links(hub, 0);
  const auto plan =
      Plan::make({Collective::broadcast, Algorithm::binomial, 0, 4, 0, 1}, MailboxFormat::lines, links);
  EXPECT_EQ(plan.status().code(), Code::internalError);
}

TEST(Planner, WordsAreNotForHosts) {
  const auto hub = std::make_shared<InProcessHub>(LinkOptions());
  InProcessLinks links(hub, 0);
  const auto plan =
      Plan::make({Collective::allReduce, Algorithm::oneShot, 0, 4, 0, 1}, MailboxFormat::words, links);
  EXPECT_EQ(plan.status().code(), Code::internalError);
}

}  // namespace
}  // namespace tutti
