// The matrix of collectives between processes of one host, smaller than the one between threads: every collective by
// every algorithm, all types and operations in turn, ordinary and registered memory.
#include <gtest/gtest.h>

#include <string>

#include "tests/api/process_cells.h"
#include "tests/support/processes.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

class ProcessesMatrix : public testing::TestWithParam<int> {};

TEST_P(ProcessesMatrix, OrdinaryMemory) {
  const int nranks = GetParam();
  for (const std::string& algorithm : algorithmNames()) {
    if (algorithm == "twoshotwindow" || algorithm == "none") continue;
    const auto cells = cellsFor(nranks, algorithm, Registered::none);
    EXPECT_EQ(runProcesses(nranks, [&](int rank, const auto& id) { return runCells(cells, rank, id); }), "");
  }
}

TEST_P(ProcessesMatrix, RegisteredMemoryByChoice) {
  const int nranks = GetParam();
  for (Registered registered : {Registered::none, Registered::all}) {
    const auto cells = cellsFor(nranks, "", registered);
    EXPECT_EQ(runProcesses(nranks, [&](int rank, const auto& id) { return runCells(cells, rank, id); }), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ProcessesMatrix, testing::Values(1, 2, 3, 4, 8));

TEST(ProcessesAndThreads, TwoByTwo) {
  constexpr int kThreads = 2;
  const auto cells = cellsFor(2 * kThreads, "", Registered::none);
  EXPECT_EQ(runProcesses(2,
                         [&](int process, const auto& id) {
                           std::string all;
                           for (const std::string& wrong : onRanks(kThreads, [&](int thread) {
                                  return runCells(cells, process * kThreads + thread, id);
                                }))
                             all += wrong;
                           return all;
                         }),
            "");
}

}  // namespace
}  // namespace tutti
