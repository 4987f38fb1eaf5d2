// Numbers from first principles: 16- and 8-bit floats are added wide and rounded once, averages divide the
// wide sum once, integers truncate; on every algorithm, by every rank, with the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/api/matrix.h"
#include "tests/support/communicators.h"
#include "tests/support/numbers.h"

namespace tutti {
namespace {

// What an all-reduce of one element for each rank gives on rank 0; NaN as a marker when ranks differ in bits.
long double allReduced(const std::string& algorithm, tuttiDataType_t type, tuttiRedOp_t operation,
                       const std::vector<long double>& values) {
  const int nranks = static_cast<int>(values.size());
  const Communicators comms(nranks, algorithm);
  std::vector<std::uint64_t> elements(values.size(), 0);
  tuttiGroupStart();
  for (int rank = 0; rank < nranks; ++rank) {
    std::uint64_t& element = elements[static_cast<std::size_t>(rank)];
    reference::store(type, values[static_cast<std::size_t>(rank)], &element);
    tuttiAllReduce(&element, &element, 1, type, operation, comms[rank], nullptr);
  }
  EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess) << tuttiGetLastError(nullptr);
  for (const std::uint64_t element : elements)
    EXPECT_EQ(element, elements[0]) << "ranks end with different bits";
  return reference::load(type, &elements[0]);
}

class Rounding : public testing::TestWithParam<std::string> {
 protected:
  void expect(tuttiDataType_t type, tuttiRedOp_t operation, const std::vector<long double>& values,
              long double wanted) {
    EXPECT_EQ(allReduced(GetParam(), type, operation, values), wanted)
        << reference::nameOf(type) << " of " << values.size() << " ranks";
  }
};

// NCCL issue 1026: partial sums pass the largest f16, the answer does not.
TEST_P(Rounding, PartialSumsDoNotOverflow) {
  const long double a = 40000, b = -35000;  // the nearest f16 of the latter is -35008
  expect(tuttiFloat16, tuttiSum, {a, a, a, a, b, b, b, b}, 19968);
  expect(tuttiFloat16, tuttiSum, {b, b, b, b, a, a, a, a}, 19968);
  expect(tuttiFloat16, tuttiSum, {a, b, a, b, a, b, a, b}, 19968);
  expect(tuttiFloat16, tuttiSum, {a, a, b, b, b, b, a, a}, 19968);
  expect(tuttiFloat8e4m3, tuttiSum, {448, 448, 448, -448, -448, -448}, 0);
}

// Eight terms of which seven vanish when each hop rounds.
TEST_P(Rounding, OneRoundingAtTheEnd) {
  const long double small = 1.0L / 512;
  for (int big = 0; big < 8; ++big) {
    std::vector<long double> values(8, small);
    values[static_cast<std::size_t>(big)] = 1;
    expect(tuttiBfloat16, tuttiSum, values, 1.015625L);
  }
  std::vector<long double> values(8, 1.0L / 4096);
  values[0] = 1;
  expect(tuttiFloat16, tuttiSum, values, 1 + 2.0L / 1024);  // 1 + 7/4096 rounds up
}

TEST_P(Rounding, AverageOfEqualsIsTheSame) {
  for (const tuttiDataType_t type :
       {tuttiFloat16, tuttiBfloat16, tuttiFloat8e4m3, tuttiFloat8e5m2, tuttiFloat32, tuttiFloat64}) {
    for (std::size_t nranks = 1; nranks <= 8; ++nranks) {
      for (const long double value : {1.0L, 7.0L, 0.5L, -3.0L})
        expect(type, tuttiAvg, std::vector<long double>(nranks, value), value);
    }
  }
  expect(tuttiFloat16, tuttiAvg, {60000, 60000, 60000, 60000}, 60000);
  expect(tuttiFloat8e4m3, tuttiAvg, {448, 448, 448}, 448);
}

TEST_P(Rounding, IntegerAveragesAreExactAndTruncate) {
  expect(tuttiInt8, tuttiAvg, {127, 127, 127}, 127);
  expect(tuttiInt8, tuttiAvg, {-128, -128, -127}, -127);
  expect(tuttiUint8, tuttiAvg, {255, 255, 254, 255}, 254);
  expect(tuttiInt32, tuttiAvg, {-1, 0}, 0);
  expect(tuttiInt32, tuttiAvg, {2147483647, 2147483647, 2147483647, 2147483647}, 2147483647);
  expect(tuttiUint32, tuttiAvg, {4294967295.0L, 4294967295.0L, 4294967294.0L}, 4294967294.0L);
  const auto most = static_cast<long double>(std::numeric_limits<std::int64_t>::max());
  expect(tuttiInt64, tuttiAvg, {most, most, most, most, most}, most);
  const auto least = static_cast<long double>(std::numeric_limits<std::int64_t>::min());
  expect(tuttiInt64, tuttiAvg, {least, least, least}, least);
}

TEST_P(Rounding, IntegersWrap) {
  expect(tuttiInt8, tuttiSum, {127, 1}, -128);
  expect(tuttiUint8, tuttiSum, {255, 2}, 1);
  expect(tuttiInt32, tuttiSum, {2147483647, 1}, -2147483648.0L);
  expect(tuttiUint32, tuttiProd, {65536, 65536}, 0);
}

TEST_P(Rounding, LargestValuesSaturateOrOverflow) {
  expect(tuttiFloat8e4m3, tuttiSum, {448, 448}, 448);
  expect(tuttiFloat8e5m2, tuttiSum, {-57344, -57344, -57344}, -57344);
  expect(tuttiFloat8e4m3, tuttiProd, {448, -448}, -448);
  expect(tuttiFloat16, tuttiSum, {65504, 15}, 65504);
  expect(tuttiFloat16, tuttiSum, {65504, 16}, std::numeric_limits<long double>::infinity());
}

// min and max: a NaN wins, and -0 is less than +0, whichever rank has it.
TEST_P(Rounding, NanAndZerosInMinAndMax) {
  const long double nan = std::numeric_limits<double>::quiet_NaN();
  for (const tuttiDataType_t type : {tuttiFloat32, tuttiFloat64}) {
    for (int place = 0; place < 3; ++place) {
      std::vector<long double> values = {1, 2, 3};
      values[static_cast<std::size_t>(place)] = nan;
      EXPECT_TRUE(std::isnan(allReduced(GetParam(), type, tuttiMax, values)));
      EXPECT_TRUE(std::isnan(allReduced(GetParam(), type, tuttiMin, values)));
      values = {0.0L, 0.0L, 0.0L};
      values[static_cast<std::size_t>(place)] = -0.0L;
      EXPECT_TRUE(std::signbit(allReduced(GetParam(), type, tuttiMin, values)));
      EXPECT_FALSE(std::signbit(allReduced(GetParam(), type, tuttiMax, values)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Rounding,
                         testing::Values("", "ring", "oneshot", "twoshot", "binomial", "doubletree",
                                         "recursivedoubling", "halvingdoubling"),
                         [](const auto& info) { return info.param.empty() ? "chosen" : info.param; });

// Real f32 and f64 data: the order of adding is the algorithm's, but all ranks end with the same bits, and
// the same call gives them again.
TEST(Bits, AreEqualOnAllRanksAndEveryTime) {
  for (const std::string& algorithm : algorithmNames()) {
    if (!serves(algorithm, Kind::allReduce) || algorithm == "twoshotwindow") continue;
    for (const int nranks : {2, 3, 7, 8}) {
      const Communicators comms(nranks, algorithm);
      const std::size_t count = 50'021;
      std::vector<std::vector<float>> results;
      for (int repeat = 0; repeat < 3; ++repeat) {
        std::vector<std::vector<float>> buffers;
        for (int rank = 0; rank < nranks; ++rank) {
          auto& buffer = buffers.emplace_back(count);
          for (std::size_t i = 0; i < count; ++i)
            buffer[i] = std::sin(static_cast<float>(i * 7 + static_cast<std::size_t>(rank) * 131)) *
                        std::ldexp(1.0f, static_cast<int>(i % 40) - 20);
        }
        tuttiGroupStart();
        for (int rank = 0; rank < nranks; ++rank) {
          float* data = buffers[static_cast<std::size_t>(rank)].data();
          tuttiAllReduce(data, data, count, tuttiFloat32, tuttiSum, comms[rank], nullptr);
        }
        ASSERT_EQ(tuttiGroupEnd(), tuttiSuccess) << tuttiGetLastError(nullptr);
        for (auto& buffer : buffers) results.push_back(std::move(buffer));
      }
      for (const auto& result : results)
        ASSERT_EQ(std::memcmp(result.data(), results[0].data(), count * sizeof(float)), 0) << algorithm;
    }
  }
}

}  // namespace
}  // namespace tutti
