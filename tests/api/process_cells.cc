#include "tests/api/process_cells.h"

#include <functional>
#include <random>

#include "tests/support/processes.h"

namespace tutti {

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

}  // namespace tutti
