// The matrix of collectives: cheap dimensions in full (collective, algorithm, number of ranks, small counts),
// the others drawn at random with a printed seed, and every type with every operation once per algorithm.
// TUTTI_TEST_SEED repeats a run. What a cell checks stands in matrix.h.
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
  return text == nullptr ? 20260u : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

class Draw {
 public:
  explicit Draw(const std::string& name) : random_(seedOfRun() + std::hash<std::string>()(name)) {
    std::cout << "TUTTI_TEST_SEED=" << seedOfRun() << '\n';
  }

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  // What the caller left open, at random.
  Cell rest(Cell cell) {
    cell.type = below(12);
    cell.operation = below(5);
    cell.root = below(cell.nranks);
    cell.placing = static_cast<Placing>(below(3));
    cell.driver = below(4) == 0 ? Driver::threads : Driver::group;
    // Even, off by one byte, and off by one element.
    constexpr int kSlacks = 3;
    const std::size_t slacks[kSlacks] = {0, 1, reference::sizeOf(cell.type)};
    cell.slack = slacks[below(kSlacks)];
    cell.seed = static_cast<unsigned>(below(2));
    return cell;
  }

 private:
  std::mt19937 random_;
};

Registered memoryFor(const std::string& algorithm) {
  return algorithm == "twoshotwindow" ? Registered::all : Registered::none;
}

// One test for each pair of algorithm and collective, so that a failure says which.
class Forced : public testing::TestWithParam<std::pair<std::string, Kind>> {
 protected:
  std::string algorithm() const { return GetParam().first; }
  Kind kind() const { return GetParam().second; }

  void expectRuns(const Cell& cell) {
    const std::string wrong = matrix_.run(cell);
    EXPECT_EQ(wrong, "") << cell.text();
    if (!wrong.empty() && ++failures_ >= 5) FAIL() << "and so on";
  }
  bool isGivenUp() const { return failures_ >= 5; }

 private:
  Matrix matrix_;
  int failures_ = 0;
};

TEST_P(Forced, RanksByCounts) {
  Draw draw("counts" + algorithm() + nameOf(kind()));
  for (int nranks = 1; nranks <= 8; ++nranks) {
    for (const std::size_t count : {0u, 1u, 2u, 3u, 7u, 8u, 64u, 1009u}) {
      if (kind() == Kind::barrier && count != 0) continue;
      for (const Placing placing : {Placing::outOfPlace, Placing::inPlace, Placing::mixed}) {
        Cell cell = draw.rest({.kind = kind(), .algorithm = algorithm(), .nranks = nranks, .count = count});
        cell.placing = placing;
        cell.registered = memoryFor(algorithm());
        expectRuns(cell);
        if (isGivenUp()) return;
      }
    }
  }
}

TEST_P(Forced, TypesByOperations) {
  Draw draw("types" + algorithm() + nameOf(kind()));
  if (kind() == Kind::barrier) return;
  for (tuttiDataType_t type = tuttiInt8; type <= tuttiFloat8e5m2; ++type) {
    for (tuttiRedOp_t operation = tuttiSum; operation <= tuttiAvg; ++operation) {
      if (!reduces(kind()) && operation != tuttiSum) continue;
      for (const int nranks : {2, 5}) {
        Cell cell = draw.rest({.kind = kind(), .algorithm = algorithm(), .nranks = nranks, .count = 67});
        cell.type = type;
        cell.operation = operation;
        cell.slack = draw.below(2) == 0 ? 0 : 1;
        cell.registered = memoryFor(algorithm());
        expectRuns(cell);
        if (isGivenUp()) return;
      }
    }
  }
}

// Many rounds, uneven last ones: sizes around multiples of a slot for the widest messages there are.
TEST_P(Forced, ManyRounds) {
  Draw draw("rounds" + algorithm() + nameOf(kind()));
  if (kind() == Kind::barrier) return;
  for (const int nranks : {2, 3, 5, 8}) {
    Cell cell = draw.rest({.kind = kind(), .algorithm = algorithm(), .nranks = nranks});
    const std::size_t wanted = nranks == 2 ? 1'000'003 : 500'009;
    const bool wide = kind() == Kind::allGather || kind() == Kind::reduceScatter;
    cell.count = wanted / reference::sizeOf(cell.type) / static_cast<std::size_t>(wide ? nranks : 1);
    cell.registered = memoryFor(algorithm());
    expectRuns(cell);
  }
}

std::vector<std::pair<std::string, Kind>> servedPairs() {
  std::vector<std::pair<std::string, Kind>> pairs;
  for (const std::string& algorithm : algorithmNames()) {
    for (const Kind kind : kKinds) {
      if (serves(algorithm, kind)) pairs.emplace_back(algorithm, kind);
    }
  }
  return pairs;
}

INSTANTIATE_TEST_SUITE_P(Matrix, Forced, testing::ValuesIn(servedPairs()),
                         [](const auto& info) { return info.param.first + "_" + nameOf(info.param.second); });

// The library's own choice, over sizes that cross its thresholds, with and without registered memory.
class Chosen : public testing::TestWithParam<Registered> {};

TEST_P(Chosen, Sizes) {
  Draw draw("sizes" + std::to_string(static_cast<int>(GetParam())));
  Matrix matrix;
  for (const Kind kind : kKinds) {
    for (int nranks = 1; nranks <= 8; ++nranks) {
      for (const std::size_t bytes : {0u, 8u, 1024u, 1032u, 2056u, 4104u, 8200u, 70'000u}) {
        if (kind == Kind::barrier && bytes != 0) continue;
        Cell cell = draw.rest({.kind = kind, .algorithm = "", .nranks = nranks});
        cell.count = bytes / reference::sizeOf(cell.type);
        cell.registered = GetParam();
        ASSERT_EQ(matrix.run(cell), "") << cell.text();
      }
    }
  }
}

std::string memoryNameOf(const testing::TestParamInfo<Registered>& info) {
  constexpr const char* names[] = {"unregistered", "registered", "someRegistered"};
  return names[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Matrix, Chosen, testing::Values(Registered::none, Registered::all, Registered::some),
                         memoryNameOf);

}  // namespace
}  // namespace tutti
