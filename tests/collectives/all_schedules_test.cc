// Every schedule that a builder can make is proved by the checker, in the parameters that the table at the
// end prints. What the checker finds is tested in checker_mistakes_test.cc.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "collectives/checker.h"
#include "schedule_set.h"

namespace tutti {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kAllRanksUpTo = 17;
constexpr int kAllRootsUpTo = 5;
constexpr int kAllRoundsUpTo = 9;
const std::vector<int> kLarge = {33};
#else
constexpr int kAllRanksUpTo = 64;
constexpr int kAllRootsUpTo = 16;
constexpr int kAllRoundsUpTo = 16;
const std::vector<int> kLarge = {100, 128, 257};
#endif
constexpr int kSlots[] = {2, 4};
constexpr int kMostChannels = 2;

std::vector<int> rankCounts(Algorithm algorithm) {
  if (algorithm == Algorithm::none) return {1};
  std::vector<int> counts;
  for (int n = 1; n <= kAllRanksUpTo; ++n) counts.push_back(n);
  counts.insert(counts.end(), kLarge.begin(), kLarge.end());
  return counts;
}

std::vector<int> rootsOf(Collective collective, int nranks) {
  if (!isRooted(collective)) return {0};
  if (nranks > kAllRootsUpTo) return {0, 1, nranks / 2, nranks - 1};
  std::vector<int> roots;
  for (int root = 0; root < nranks; ++root) roots.push_back(root);
  return roots;
}

std::set<int> roundsFor(int slots, int nranks) {
  if (nranks > kAllRanksUpTo) return {1, slots + 1};
  return {1, 2, slots, slots + 1, 3 * slots + 1};
}

// Data, races and closedness do not depend on the number of slots. With few ranks they are proved in every
// combination all the same; with many, in these, and the other combinations are run for deadlock alone.
bool provesData(int slots, int rounds, int nranks) {
  if (nranks <= kAllRoundsUpTo) return true;
  return slots == 2 && (rounds <= 2 || (rounds == 3 && nranks <= kAllRanksUpTo));
}

struct Totals {
  int sets = 0;
  int runs = 0;
  int deadlockRuns = 0;
  std::int64_t steps = 0;
  std::int64_t checks = 0;
};

void check(const ScheduleSet& set, Totals& totals) {
  const ScheduleChecker checker(set.build(), set.collective, set.root);
  ++totals.sets;
  for (int slots : kSlots) {
    for (int rounds : roundsFor(slots, set.nranks)) {
      const bool data = provesData(slots, rounds, set.nranks);
      for (bool inPlace : {false, true}) {
        if (inPlace && !data) continue;
        CheckOptions options;
        options.slots = slots;
        options.rounds = rounds;
        options.inPlace = inPlace;
        options.endsOnly = !data;
        const CheckReport report = checker.run(options);
        ++(data ? totals.runs : totals.deadlockRuns);
        totals.checks += report.checks;
        for (std::int64_t steps : report.stepsFired) totals.steps += steps;
        ASSERT_TRUE(report.ok()) << set.nranks << " ranks, root " << set.root << ", " << set.channels
                                 << " channels, " << slots << " slots, " << rounds << " rounds, "
                                 << (inPlace ? "in place" : "out of place") << "\n"
                                 << report.text();
      }
    }
  }
}

class AllSchedules : public testing::TestWithParam<Served> {
 public:
  static void SetUpTestSuite() {
    fmt::print(
        "ranks 1..{} and {}; all roots up to {} ranks, then 0, 1, n/2, n-1; slots S 2 and 4; channels 1 and "
        "2\n"
        "rounds 1, 2, S, S+1, 3S+1 (more than {} ranks: 1, S+1), out of place and in place\n"
        "data, order, closedness: in all of these up to {} ranks, then with 2 slots in up to 3 rounds (2, "
        "with more "
        "than {} ranks); the others for deadlock alone\n",
        kAllRanksUpTo, fmt::join(kLarge, ", "), kAllRootsUpTo, kAllRanksUpTo, kAllRoundsUpTo, kAllRanksUpTo);
    fmt::print("{:38} {:>9} {:>9} {:>14} {:>12} {:>12} {:>8}\n", "algorithm and collective", "schedules",
               "runs", "deadlock runs", "steps", "checks", "ms");
  }
};

TEST_P(AllSchedules, AreRight) {
  const Served& pair = GetParam();
  const auto start = std::chrono::steady_clock::now();
  Totals totals;
  for (int nranks : rankCounts(pair.algorithm)) {
    for (int root : rootsOf(pair.collective, nranks)) {
      for (int channels = 1; channels <= kMostChannels; ++channels) {
        check({pair.algorithm, pair.collective, nranks, root, channels}, totals);
        if (HasFatalFailure()) return;
      }
    }
  }
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
  fmt::print("{:38} {:>9} {:>9} {:>14} {:>12} {:>12} {:>8}\n",
             fmt::format("{} {}", nameOf(pair.algorithm), nameOf(pair.collective)), totals.sets, totals.runs,
             totals.deadlockRuns, totals.steps, totals.checks, ms.count());
}

INSTANTIATE_TEST_SUITE_P(, AllSchedules, testing::ValuesIn(allServed()),
                         [](const auto& info) { return testNameOf(info.param); });

}  // namespace
}  // namespace tutti
