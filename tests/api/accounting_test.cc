// What tuttiCommLastPlan reports is what the checker computes from the same schedules: rounds, steps,
// messages and bytes, for every algorithm and number of ranks, whoever drives the ranks.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "collectives/checker.h"
#include "collectives/choose.h"
#include "collectives/plan.h"
#include "tests/api/matrix.h"
#include "tests/collectives/schedule_set.h"
#include "transport/inprocess/links.h"

namespace tutti {
namespace {

class Accounting : public testing::TestWithParam<Served> {};

TEST_P(Accounting, LastPlanEqualsTheChecker) {
  const auto [algorithm, collective] = GetParam();
  const bool windows = algorithm == Algorithm::twoShotWindow;
  Matrix matrix;
  for (int nranks = 2; nranks <= 8; ++nranks) {
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{1009}, std::size_t{200'003}}) {
      if (collective == Collective::barrier && count != 0) continue;
      Cell cell;
      cell.kind = static_cast<Kind>(collective);
      cell.algorithm = settingNameOf(algorithm);
      cell.nranks = nranks;
      cell.count = count;
      cell.type = tuttiFloat16;
      cell.root = isRooted(collective) ? nranks - 1 : 0;
      cell.driver = nranks % 2 == 0 ? Driver::group : Driver::threads;
      cell.registered = windows ? Registered::all : Registered::none;
      SCOPED_TRACE(cell.text());
      ASSERT_EQ(matrix.run(cell), "");

      const ScheduleSet set{algorithm, collective, nranks, cell.root, 1};
      const PlanTable table{ForcedAlgorithms::parse(cell.algorithm).value(), LinkOptions().lineBytes,
                            LinkOptions().slotBytes};
      const CallFacts facts{collective, DataType::f16, Operation::sum, count, nranks, windows};
      const Choice choice = choose(table, facts).value();
      InProcessLinks links(std::make_shared<InProcessHub>(LinkOptions()), 0);
      const auto plan = Plan::make(set.request(0), choice.format, links);
      ASSERT_TRUE(plan.isOk());
      const std::uint32_t formBytes[3] = {2, 4, 2};
      const Cut cut = plan.value()->cut(count, formBytes, choice.slotBytes).value();

      const ScheduleChecker checker(set.build(), collective, cell.root);
      CheckOptions options;
      options.rounds = static_cast<int>(cut.rounds);
      const CheckReport report = checker.run(options);
      const auto n = static_cast<std::size_t>(nranks);
      std::vector<std::uint64_t> messages(n), bytes(n);
      for (const LinkBytes& link : linkBytes(checker.traffic(), cut, DataType::f16, Operation::sum)) {
        messages[static_cast<std::size_t>(link.from)] += link.messages;
        bytes[static_cast<std::size_t>(link.from)] += link.bytes;
      }
      std::uint64_t windowBytes = 0;
      for (int rank = 0; rank < nranks; ++rank) {
        const auto index = static_cast<std::size_t>(rank);
        const tuttiPlan_t last = matrix.lastPlan(cell, rank);
        EXPECT_EQ(last.rounds, static_cast<int>(cut.rounds));
        EXPECT_EQ(last.channels, choice.channels);
        EXPECT_EQ(last.steps, static_cast<std::uint64_t>(report.stepsFired[index])) << "rank " << rank;
        EXPECT_EQ(last.messages, messages[index]) << "rank " << rank;
        EXPECT_EQ(last.inProcessBytes, bytes[index]) << "rank " << rank;
        EXPECT_EQ(last.directBytes + last.relayedBytes, 0u);
        windowBytes += last.windowBytes;
      }
      EXPECT_EQ(windowBytes != 0, windows && count != 0);
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

INSTANTIATE_TEST_SUITE_P(Pairs, Accounting, testing::ValuesIn(pairs()), pairNameOf);

}  // namespace
}  // namespace tutti
