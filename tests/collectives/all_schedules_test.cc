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
constexpr int kAllRootsUpTo = 64;
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

std::set<int> someRoots(int nranks) {
  return {0, std::min(1, nranks - 1), nranks / 2, nranks - 1};
}

std::set<int> rootsOf(Collective collective, int nranks) {
  if (!isRooted(collective)) return {0};
  std::set<int> roots = someRoots(nranks);
  for (int root = 0; root < nranks && nranks <= kAllRootsUpTo; ++root) roots.insert(root);
  return roots;
}

bool useScratch(const std::vector<Schedule>& schedules) {
  return std::any_of(schedules.begin(), schedules.end(),
                     [](const Schedule& schedule) { return schedule.scratchSegments > 0; });
}

// With few ranks everything is proved in every combination. With many, these suffice. Data, races and
// closedness do not depend on the number of slots, so 2 will do. Rounds share nothing but scratch: each has
// blocks of its own, and a link as many messages at both ends, so without scratch one round proves them all;
// some roots go on to 3 all the same. For deadlock one long run is enough: what a step waits for lies in its
// own round or in an earlier one, so shorter runs are the beginning of longer ones.
std::vector<CheckOptions> runsOf(const ScheduleSet& set, bool scratch) {
  std::vector<CheckOptions> runs;
  const auto proveAll = [&runs](int slots, int rounds) {
    for (bool inPlace : {false, true}) {
      runs.push_back({.slots = slots, .rounds = rounds, .inPlace = inPlace});
    }
  };
  if (set.nranks <= kAllRoundsUpTo) {
    for (int slots : kSlots) {
      for (int rounds : std::set{1, 2, slots, slots + 1, 3 * slots + 1}) proveAll(slots, rounds);
    }
    return runs;
  }
  const bool large = set.nranks > kAllRanksUpTo;
  const bool oneRound = large || !(scratch || someRoots(set.nranks).contains(set.root));
  for (int rounds = 1; rounds <= (oneRound ? 1 : 3); ++rounds) proveAll(2, rounds);
  for (int slots : kSlots) {
    const int rounds = large ? slots + 1 : 3 * slots + 1;
    runs.push_back({.slots = slots, .rounds = rounds, .endsOnly = true});
  }
  return runs;
}

struct Totals {
  int sets = 0;
  int runs = 0;
  int deadlockRuns = 0;
  std::int64_t steps = 0;
  std::int64_t checks = 0;
};

void check(const ScheduleSet& set, Totals& totals) {
  const std::vector<Schedule> schedules = set.build();
  const ScheduleChecker checker(schedules, set.collective, set.root);
  ++totals.sets;
  for (const CheckOptions& options : runsOf(set, useScratch(schedules))) {
    const CheckReport report = checker.run(options);
    ++(options.endsOnly ? totals.deadlockRuns : totals.runs);
    totals.checks += report.checks;
    for (std::int64_t steps : report.stepsFired) totals.steps += steps;
    ASSERT_TRUE(report.ok()) << set.nranks << " ranks, root " << set.root << ", " << set.channels
                             << " channels, " << options.slots << " slots, " << options.rounds << " rounds, "
                             << (options.inPlace ? "in place" : "out of place") << "\n"
                             << report.text();
  }
}

class AllSchedules : public testing::TestWithParam<Served> {
 public:
  static void SetUpTestSuite() {
    fmt::print(
        "ranks 1..{} and {}; 1 and 2 channels; all roots up to {} ranks, then 0, 1, n/2, n-1\n"
        "up to {} ranks: everything with S = 2 and 4 slots in 1, 2, S, S+1, 3S+1 rounds\n"
        "then: everything with 2 slots in 1, 2, 3 rounds (roots other than 0, 1, n/2, n-1: 1 round, unless\n"
        "      scratch is used); deadlock with S slots in 3S+1 rounds\n"
        "more than {} ranks: everything with 2 slots in 1 round; deadlock with S slots in S+1 rounds\n"
        "everything is data, order, closedness and deadlock, out of place and in place\n",
        kAllRanksUpTo, fmt::join(kLarge, ", "), kAllRootsUpTo, kAllRoundsUpTo, kAllRanksUpTo);
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
