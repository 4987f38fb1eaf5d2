// Steps on the longest path and what the links carry equal the formulas of docs/algorithms.md, which are
// written down here once more. The types are chosen so that each form has another size.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "collectives/checker.h"
#include "schedule_set.h"

namespace tutti {
namespace {

// Elements in units of one segment's count, times `per` to stay whole. `busiest` is the link that carries
// most, all forms together; the others are sums over all links.
struct Cost {
  int path;
  int per;
  int busiest;
  int raw;
  int partial;
  int result;
};

int floorLog2(int n) {
  int log = 0;
  while (n >= 2) {
    n /= 2;
    ++log;
  }
  return log;
}

// n ranks, of which p = 2^l is the largest power of two and s = n - p are surplus; k = floor(log2(n - 1)).
Cost costOf(Algorithm algorithm, Collective collective, int n) {
  const int l = floorLog2(n);
  const int p = 1 << l;
  const int s = n - p;
  const int k = floorLog2(n - 1);
  const int ceilLog = s == 0 ? l : l + 1;
  const int half = p / 2;
  const Cost doublingAllGather =
      s == 0 ? Cost{2 * l, 1, half, n * (n - 1), 0, 0} : Cost{2 * l + 3, 1, n - 1, n * (n - 1), 0, 0};
  using enum Collective;
  switch (algorithm) {
    case Algorithm::none:
      break;
    case Algorithm::ring:
      if (collective == allReduce) return {2 * n - 1, n, 2 * (n - 1), n, n * (n - 2), n * (n - 1)};
      if (collective == reduceScatter) return {n, 1, n - 1, n, n * (n - 2), 0};
      return {n, 1, n - 1, n * (n - 1), 0, 0};
    case Algorithm::oneShot:
      if (collective == allReduce) return {2, 1, 1, n * (n - 1), 0, 0};
      if (collective == barrier) return {2, 1, 0, 0, 0, 0};
      if (isRooted(collective)) return {2, 1, 1, n - 1, 0, 0};
      return {n, 1, 1, n * (n - 1), 0, 0};
    case Algorithm::twoShot:
      return {2 * n - 1, n, 2, n * (n - 1), 0, n * (n - 1)};
    case Algorithm::twoShotWindow:
      return {2, 1, 0, 0, 0, 0};
    case Algorithm::binomial: {
      const int leaves = (n + 1) / 2;
      if (collective == broadcast) return {l + 1, 1, 1, n - 1, 0, 0};
      if (collective == reduce) return {l + 1, 1, 1, leaves, n - 1 - leaves, 0};
      return {2 * l + 1, 1, 1, leaves, n - 1 - leaves, n - 1};
    }
    case Algorithm::chain:
      return collective == broadcast ? Cost{n, 1, 1, n - 1, 0, 0} : Cost{n, 1, 1, 1, n - 2, 0};
    case Algorithm::doubleTree: {
      const int leaves = n / 2;
      if (collective == broadcast) return {k + 2, 2, 1, 2 * (n - 1), 0, 0};
      if (collective == reduce) return {k + 2, 2, 1, 2 * leaves, 2 * (n - 1 - leaves), 0};
      return {2 * k + 3, 2, 1, 2 * leaves, 2 * (n - 1 - leaves), 2 * (n - 1)};
    }
    case Algorithm::recursiveDoubling:
      if (collective == barrier) return {ceilLog + 1, 1, 0, 0, 0, 0};
      if (collective == allGather) return doublingAllGather;
      return {s == 0 ? l + 1 : l + 3, 1, 1, p, s + p * (l - 1), s};
    case Algorithm::halvingDoubling: {
      if (collective == allGather) return doublingAllGather;
      if (collective == allReduce) {
        return {s == 0 ? 4 * l - 1 : 4 * l + 2, 2, 2, 2 * s + (p - s), s + p - 2, 2 * (p - 1 + s)};
      }
      const int raw = s <= half ? p * half : (p - s) * p;  // of the first level
      return {2 * l + (s == 0 ? 0 : s == 1 ? 4 : 5), 1, s == 0 ? half : n, s * n + raw, n * (p - 1) - raw, s};
    }
  }
  return {1, 1, 0, 0, 0, 0};
}

class ScheduleCosts : public testing::TestWithParam<Served> {};

TEST_P(ScheduleCosts, EqualTheFormulas) {
  const Served& pair = GetParam();
  for (int n : someRankCounts(pair.algorithm)) {
    const Cost cost = n == 1 ? Cost{pair.collective == Collective::barrier ? 0 : 1, 1, 0, 0, 0, 0}
                             : costOf(pair.algorithm, pair.collective, n);
    for (int channels : {1, 2}) {
      const ScheduleSet set{pair.algorithm, pair.collective, n, 0, channels};
      const std::vector<Schedule> schedules = set.build();
      const ScheduleChecker checker(schedules, pair.collective, 0);
      EXPECT_EQ(checker.run({}).longestPath, cost.path) << n << " ranks";

      // All blocks equally large: a hundred elements each.
      const int blocks = schedules[0].blocksPerSegment;
      Cut cut;
      cut.blocks = static_cast<std::uint32_t>(blocks);
      cut.count = cut.roundElements = 100 * static_cast<std::uint64_t>(blocks);
      const std::vector<LinkTraffic> traffic = checker.traffic();
      // i8 averages: 1 byte raw and as a result, 4 in between.
      std::uint64_t most = 0;
      std::uint64_t total = 0;
      std::set<int> used;
      for (const LinkBytes& link : linkBytes(traffic, cut, DataType::f32, Operation::sum)) {
        most = std::max(most, link.bytes);
        total += link.bytes;
        used.insert(link.channel);
      }
      // Copies of the pattern: one where messages hold whole segments; a double tree has two channels in
      // each.
      const std::uint64_t copies =
          used.size() / (pair.algorithm == Algorithm::doubleTree ? 2 : 1) == 2 ? 2 : 1;
      std::uint64_t totalAverage = 0;
      for (const LinkBytes& link : linkBytes(traffic, cut, DataType::i8, Operation::avg))
        totalAverage += link.bytes;
      std::uint64_t results = 0;
      for (const LinkTraffic& link : traffic) {
        for (const Place& message : link.messages) {
          if (message.form == Form::result) results += 100 * static_cast<std::uint64_t>(message.nblocks);
        }
      }
      const std::uint64_t unit = cut.count;  // divided by cost.per below
      const auto elements = [&](int parts) { return unit * static_cast<std::uint64_t>(parts) / cost.per; };
      EXPECT_EQ(most * copies, 4 * elements(cost.busiest)) << n << " ranks: busiest link";
      EXPECT_EQ(total, 4 * elements(cost.raw + cost.partial + cost.result)) << n << " ranks: all links";
      EXPECT_EQ(totalAverage, elements(cost.raw + cost.result) + 4 * elements(cost.partial))
          << n << " ranks: by form";
      EXPECT_EQ(results, elements(cost.result)) << n << " ranks: results";
    }
  }
}

// The sums whose order of contributions is that of the ranks: what an operation that does not commute would
// need.
TEST_P(ScheduleCosts, OrderOfContributions) {
  const Served& pair = GetParam();
  if (!reduces(pair.collective) || pair.algorithm == Algorithm::none) return;
  for (int n : {4, 6, 8}) {
    const ScheduleSet set{pair.algorithm, pair.collective, n};
    const bool ordered = checkSchedules(set.build(), pair.collective, 0, {}).orderPreserving;
    switch (pair.algorithm) {
      case Algorithm::ring:
        EXPECT_FALSE(ordered);
        break;
      case Algorithm::doubleTree:
        EXPECT_EQ(ordered, n != 8);
        break;  // tree 1 wraps around
      case Algorithm::halvingDoubling:
        EXPECT_EQ(ordered, pair.collective == Collective::allReduce);
        break;
      default:
        EXPECT_TRUE(ordered) << n << " ranks";
        break;
    }
  }
}

// The trees: below the root, nobody has children in both; nobody sends more than twice the data.
TEST(DoubleTree, NobodyHasChildrenInBothTrees) {
  for (int n = 2; n <= 70; ++n) {
    for (int root : {0, n / 3, n - 1}) {
      std::set<int> parents[2];
      for (int rank = 0; rank < n; ++rank) {
        const Schedule schedule =
            buildSchedule({Collective::broadcast, Algorithm::doubleTree, rank, n, root, 1});
        ASSERT_EQ(schedule.lanes.size(), 2u);
        for (int tree = 0; tree < 2; ++tree) {
          const std::size_t children = schedule.lanes[tree].steps[0].destinations.size() - 1;
          EXPECT_LE(children, rank == root ? 1u : 2u);
          if (children > 0 && rank != root) parents[tree].insert(rank);
        }
      }
      for (int rank : parents[0]) EXPECT_EQ(parents[1].count(rank), 0u) << n << " ranks, rank " << rank;
    }
  }
}

class ScheduleSizes : public testing::TestWithParam<Served> {};

// With real counts: the blocks of all rounds tile a segment, and no message is larger than its slot.
TEST_P(ScheduleSizes, BlocksTileAndMessagesFit) {
  const Served& pair = GetParam();
  constexpr std::uint64_t kSlotBytes = 16384;
  for (int n : someRankCounts(pair.algorithm)) {
    for (int channels : {1, 2}) {
      const ScheduleSet set{pair.algorithm, pair.collective, n, 0, channels};
      const std::vector<Schedule> schedules = set.build();
      const std::vector<LinkTraffic> traffic = ScheduleChecker(schedules, pair.collective, 0).traffic();
      const auto blocks = static_cast<std::uint32_t>(schedules[0].blocksPerSegment);
      for (DataType type : {DataType::u8, DataType::bf16, DataType::f64}) {
        std::uint64_t capacity = 0;
        for (const LinkTraffic& link : traffic) {
          for (const Place& message : link.messages) {
            if (message.nblocks == 0) continue;
            const std::uint64_t fits =
                kSlotBytes / (message.nblocks * bytesOf(type, Operation::avg, message.form));
            capacity = capacity == 0 ? fits : std::min(capacity, fits);
          }
        }
        const std::uint64_t un = static_cast<std::uint64_t>(n);
        for (std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1}, un - 1, un + 1, std::uint64_t{65537},
                                    std::uint64_t{1000003}}) {
          const Cut cut = makeCut(count, blocks, capacity, static_cast<std::uint32_t>(bytesOf(type)));
          std::uint64_t next = 0;
          for (std::uint32_t round = 0; round < cut.rounds; ++round) {
            const RoundCut roundCut = roundOf(cut, round);
            for (std::uint32_t b = 0; b < blocks; ++b) {
              const Extent extent = extentOf(roundCut, b, 1);
              ASSERT_EQ(extent.begin, next) << count << " elements, round " << round << " block " << b;
              ASSERT_LE(extent.begin, extent.end);
              next = extent.end;
            }
          }
          ASSERT_EQ(next, count);
          // The first round is the largest.
          const RoundCut first = roundOf(cut, 0);
          for (const LinkTraffic& link : traffic) {
            for (const Place& message : link.messages) {
              std::uint64_t bytes = 0;
              for (int i = 0; i < message.nblocks; ++i) {
                const Extent extent =
                    extentOf(first, static_cast<std::uint32_t>(message.block + i) % blocks, 1);
                bytes += (extent.end - extent.begin) * bytesOf(type, Operation::avg, message.form);
              }
              ASSERT_LE(bytes, kSlotBytes);
            }
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ScheduleCosts, testing::ValuesIn(allServed()),
                         [](const auto& info) { return testNameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(, ScheduleSizes, testing::ValuesIn(allServed()),
                         [](const auto& info) { return testNameOf(info.param); });

// What `serves` promises, in one look.
TEST(Serves, Table) {
  std::string table;
  for (int a = 0; a < kAlgorithms; ++a) {
    for (int c = 0; c < kCollectives; ++c) {
      table += serves(static_cast<Algorithm>(a), static_cast<Collective>(c), 8) ? 'x' : '.';
    }
    table += ' ';
  }
  // all-reduce broadcast reduce reduce-scatter all-gather barrier
  EXPECT_EQ(table, "...... x..xx. xxxxxx x..... xxxxx. xxx... .xx... xxx... x...xx x..xx. ");
  EXPECT_TRUE(serves(Algorithm::none, Collective::barrier, 1));
  EXPECT_FALSE(serves(Algorithm::ring, Collective::allReduce, 0));
}

TEST(Describe, SaysWhatAStepDoes) {
  const Schedule schedule = buildSchedule({Collective::allReduce, Algorithm::ring, 1, 3, 0, 1});
  EXPECT_EQ(describe(schedule.lanes[0].steps[1]),
            "link from 0 #0 [2] raw + input[2] raw -> link to 2 #0 [2] partial");
  EXPECT_NE(describe(schedule).find("lane 0 step 4"), std::string::npos);
}

}  // namespace
}  // namespace tutti
