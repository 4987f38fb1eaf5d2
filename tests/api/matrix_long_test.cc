// A wider draw from the matrix of matrix_test.cc: thousands of cells with every dimension at random, and
// large counts for all numbers of ranks. TUTTI_TEST_SEED repeats a run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/api/matrix.h"
#include "tests/support/numbers.h"

namespace tutti {
namespace {

unsigned seedOfRun() {
  const char* text = std::getenv("TUTTI_TEST_SEED");
  return text == nullptr ? 1u : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

TEST(MatrixLong, AnyCell) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr int kCells = 10'000;
#else
  constexpr int kCells = 100'000;
#endif
  std::cout << "TUTTI_TEST_SEED=" << seedOfRun() << '\n';
  std::mt19937 random(seedOfRun());
  const auto below = [&random](std::size_t n) { return random() % n; };
  Matrix matrix;
  for (int i = 0; i < kCells; ++i) {
    Cell cell;
    cell.kind = kKinds[below(std::size(kKinds))];
    const std::string& algorithm = algorithmNames()[below(algorithmNames().size())];
    if (below(4) != 0) {
      if (!serves(algorithm, cell.kind)) continue;
      cell.algorithm = algorithm;
    }
    cell.nranks = 1 + static_cast<int>(below(8));
    // Small counts are as likely as large ones.
    cell.count = below(std::size_t{1} << (1 + below(17)));
    cell.type = static_cast<tuttiDataType_t>(below(12));
    cell.operation = static_cast<tuttiRedOp_t>(below(5));
    cell.root = static_cast<int>(below(static_cast<std::size_t>(cell.nranks)));
    cell.placing = static_cast<Placing>(below(3));
    cell.driver = below(8) == 0 ? Driver::threads : Driver::group;
    cell.registered = static_cast<Registered>(below(3));
    if (cell.algorithm == "twoshotwindow") cell.registered = Registered::all;
    cell.slack = below(20);
    cell.seed = static_cast<unsigned>(below(3));
    const std::size_t most =
        (std::size_t{7} << 20) / reference::sizeOf(cell.type) / static_cast<std::size_t>(cell.nranks);
    cell.count = std::min(cell.count, most);
    ASSERT_EQ(matrix.run(cell), "") << "cell " << i << ": " << cell.text();
  }
}

}  // namespace
}  // namespace tutti
