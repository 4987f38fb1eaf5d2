// The matrix of collectives between processes of one host, smaller than the one between threads: every collective by
// every algorithm, all types and operations in turn, ordinary and registered memory.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tests/api/matrix.h"
#include "tests/support/processes.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

// The same cells on every rank: drawn from the same seed.
std::vector<Cell> cellsFor(int nranks, const std::string& algorithm, Registered registered) {
  std::mt19937 random(static_cast<unsigned>(nranks) * 131 +
                      static_cast<unsigned>(std::hash<std::string>()(algorithm)));
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<Cell> cells;
  for (Kind kind : kKinds) {
    if (!algorithm.empty() && !serves(algorithm, kind)) continue;
    for (std::size_t count : {0, 1, 5, 1023, 20'011}) {
      Cell cell;
      cell.kind = kind;
      cell.algorithm = algorithm;
      cell.nranks = nranks;
      cell.count = count;
      cell.type = below(12);
      cell.operation = below(5);
      cell.root = below(nranks);
      cell.placing = static_cast<Placing>(below(3));
      cell.registered = registered;
      cell.slack = static_cast<std::size_t>(below(3));
      cell.seed = static_cast<unsigned>(below(2));
      cells.push_back(cell);
    }
  }
  return cells;
}

std::string runCells(const std::vector<Cell>& cells, int rank, const tuttiUniqueId& id) {
  const tuttiConfig_t config = configOf(kPatientMs, cells.front().algorithm.c_str());
  return onCommunicator(cells.front().nranks, rank, id, config, [&](tuttiComm_t comm) -> std::string {
    Matrix matrix;
    for (const Cell& cell : cells) {
      const std::string wrong = matrix.runRank(cell, rank, comm);
      if (!wrong.empty()) return cell.text() + ": " + wrong;
    }
    return "";
  });
}

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
