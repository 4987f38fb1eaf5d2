// bench/common/pattern: the data of checked calls is exact in any order of adding, and tells ranks, positions
// and calls apart. If this fails, the programs accuse the library of what is their own mistake, or overlook
// its mistakes.
#include "common/pattern.h"

#include "common/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace tutti::bench {
namespace {

double valueAt(const Sequence& sequence, tuttiDataType_t type, std::size_t index) {
  return std::strtod(describe(type, sequence.at(index)).c_str(), nullptr);
}

struct Sums {
  double sum = 0, magnitudes = 0, product = 1;
};

Sums addUp(const Pattern& pattern, tuttiDataType_t type, std::size_t index) {
  Sums sums;
  for (const Sequence& input : pattern.inputs) {
    const double value = valueAt(input, type, index);
    sums.sum += value;
    sums.magnitudes += std::fabs(value);
    sums.product *= value;
  }
  return sums;
}

// No partial result, in whatever order it comes about, is larger than the sum of all magnitudes.
void expectExact(tuttiDataType_t type, tuttiRedOp_t op, int nranks) {
  const Pattern pattern = reducedPattern(nranks, type, op, 7);
  for (std::size_t index = 0; index < 400; index++) {
    const Sums sums = addUp(pattern, type, index);
    const double result = valueAt(pattern.reduced, type, index);
    if (op == tuttiSum) {
      ASSERT_LE(sums.magnitudes, static_cast<double>(largestExact(type)));
      ASSERT_EQ(result, sums.sum);
    } else if (op == tuttiProd) {
      ASSERT_LE(std::fabs(sums.product), 64);
      ASSERT_EQ(result, sums.product);
    } else if (op == tuttiAvg) {
      ASSERT_LT(sums.magnitudes, 0x1p24);  // exact in float, in which small types are added
      ASSERT_EQ(result * nranks, sums.sum);
    }
  }
}

class PatternOf : public testing::TestWithParam<tuttiDataType_t> {};

TEST_P(PatternOf, IsExactInAnyOrder) {
  for (int nranks : {1, 2, 3, 8, 17, 64}) {
    for (tuttiRedOp_t op : allOperations()) {
      SCOPED_TRACE(std::to_string(nranks) + " ranks " + operationName(op));
      expectExact(GetParam(), op, nranks);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(PatternOf, DependsOnEveryRank) {
  const Pattern pattern = reducedPattern(20, GetParam(), tuttiSum, 1);
  for (const Sequence& input : pattern.inputs) {
    int other = 0;
    for (std::size_t i = 0; i < kPeriod; i++) other += valueAt(input, GetParam(), i) != 0;
    EXPECT_GT(other, 100);
  }
}

TEST_P(PatternOf, UntouchedIsNoResult) {
  for (tuttiRedOp_t op : allOperations()) {
    const Pattern pattern = reducedPattern(3, GetParam(), op, 1);
    for (std::size_t i = 0; i < kPeriod; i++) {
      ASSERT_NE(std::memcmp(pattern.reduced.at(i), pattern.untouched.at(i), bytesOf(GetParam())), 0);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PatternOf, testing::ValuesIn(allTypes()),
                         [](const auto& info) { return std::string(typeName(info.param)); });

TEST(Pattern, TellsCallsAndRanksApart) {
  const Pattern one = copiedPattern(2, tuttiFloat32, 1);
  const Pattern two = copiedPattern(2, tuttiFloat32, 2);
  EXPECT_NE(one.inputs[0].bytes, one.inputs[1].bytes);
  EXPECT_NE(one.inputs[0].bytes, two.inputs[0].bytes);
  EXPECT_EQ(one.inputs[0].bytes, copiedPattern(2, tuttiFloat32, 1).inputs[0].bytes);
}

TEST(Pattern, SecondPeriodRepeatsTheFirst) {
  const Sequence sequence = copiedPattern(1, tuttiInt64, 1).inputs[0];
  EXPECT_EQ(sequence.bytes.size(), 2 * kPeriod * 8);
  EXPECT_EQ(std::memcmp(sequence.bytes.data(), sequence.bytes.data() + kPeriod * 8, kPeriod * 8), 0);
  EXPECT_EQ(sequence.at(kPeriod + 3), sequence.at(3));
}

}  // namespace
}  // namespace tutti::bench
