// kernels/floats.h against the formats' definition in f64: every code to f32, and to every code the f32 at
// and around its borders. (conversions_long_test goes through all f32.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "kernels/floats.h"
#include "tests/kernels/small_float_formats.h"

namespace tutti {
namespace {

struct Tested {
  SmallFormat format;
  float (*toF32)(std::uint32_t);
  std::uint32_t (*fromF32)(float);
};

constexpr Tested kTested[] = {
    {kF16, [](std::uint32_t code) { return f16ToF32(static_cast<std::uint16_t>(code)); },
     [](float value) -> std::uint32_t { return f32ToF16(value); }},
    {kBf16, [](std::uint32_t code) { return bf16ToF32(static_cast<std::uint16_t>(code)); },
     [](float value) -> std::uint32_t { return f32ToBf16(value); }},
    {kF8e4m3, [](std::uint32_t code) { return f8e4m3ToF32(static_cast<std::uint8_t>(code)); },
     [](float value) -> std::uint32_t { return f32ToF8e4m3(value); }},
    {kF8e5m2, [](std::uint32_t code) { return f8e5m2ToF32(static_cast<std::uint8_t>(code)); },
     [](float value) -> std::uint32_t { return f32ToF8e5m2(value); }},
};

class ConversionsTest : public ::testing::TestWithParam<Tested> {
 protected:
  // The nearest code by search among all values, ties to the even code.
  static std::uint32_t nearest(const SmallFormat& format, float value) {
    const std::uint32_t sign = std::signbit(value) ? format.nmagnitudes() : 0;
    const double magnitude = std::fabs(static_cast<double>(value));
    if (std::isinf(value)) return sign | (format.ieee ? format.infinityCode() : format.lastFiniteCode());
    std::uint32_t low = 0, high = format.lastFiniteCode() + 1;  // valueOf(low) <= magnitude < valueOf(high)
    if (magnitude >= format.valueOf(high)) return sign | (format.saturates ? high - 1 : high);
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (format.valueOf(middle) <= magnitude ? low : high) = middle;
    }
    const double down = magnitude - format.valueOf(low);
    const double up = format.valueOf(high) - magnitude;
    std::uint32_t code = down < up || (down == up && low % 2 == 0) ? low : high;
    if (format.saturates) code = std::min(code, format.lastFiniteCode());
    return sign | code;
  }
};

TEST_P(ConversionsTest, EveryCodeToF32) {
  const auto& [format, toF32, fromF32] = GetParam();
  for (std::uint32_t code = 0; code < 2 * format.nmagnitudes(); ++code) {
    const std::uint32_t magnitude = code & (format.nmagnitudes() - 1);
    const float got = toF32(code);
    if (format.isNan(code)) {
      EXPECT_TRUE(std::isnan(got)) << code;
      continue;
    }
    double expected = format.valueOf(magnitude);
    if (format.ieee && magnitude == format.infinityCode()) expected = std::numeric_limits<double>::infinity();
    EXPECT_EQ(std::fabs(got), expected) << code;
    EXPECT_EQ(std::signbit(got), code >= format.nmagnitudes()) << code;
  }
}

TEST_P(ConversionsTest, EveryCodeComesBack) {
  const auto& [format, toF32, fromF32] = GetParam();
  for (std::uint32_t code = 0; code < 2 * format.nmagnitudes(); ++code) {
    const std::uint32_t back = fromF32(toF32(code));
    if (format.isNan(code)) {
      EXPECT_TRUE(format.isNan(back)) << code;
    } else {
      EXPECT_EQ(back, code);
    }
  }
}

TEST_P(ConversionsTest, AroundEveryBorder) {
  const auto& [format, toF32, fromF32] = GetParam();
  for (std::uint32_t code = 0; code <= format.lastFiniteCode(); ++code) {
    for (double center : {format.valueOf(code), (format.valueOf(code) + format.valueOf(code + 1)) / 2}) {
      const float exact = static_cast<float>(center);
      const float around[] = {exact, std::nextafter(exact, 1e38f), std::nextafter(exact, -1.0f)};
      for (float value : around) {
        EXPECT_EQ(fromF32(value), nearest(format, value)) << value;
        EXPECT_EQ(fromF32(-value), nearest(format, -value)) << -value;
      }
    }
  }
}

TEST_P(ConversionsTest, RandomAndSpecialF32) {
  const auto& [format, toF32, fromF32] = GetParam();
  std::mt19937 random(1);
  for (int i = 0; i < 1000000; ++i) {
    const float value = floatOf(random());
    if (std::isnan(value)) {
      ASSERT_TRUE(format.isNan(fromF32(value)));
    } else {
      ASSERT_EQ(fromF32(value), nearest(format, value)) << value;
    }
  }
  for (std::uint32_t bits : {0u, 1u, 0x7fffffu, 0x800000u, 0x7f7fffffu, 0x7f800000u}) {
    for (std::uint32_t sign : {0u, 0x80000000u}) {
      EXPECT_EQ(fromF32(floatOf(bits | sign)), nearest(format, floatOf(bits | sign))) << bits;
    }
  }
  for (std::uint32_t nan : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffffffffu}) {
    EXPECT_TRUE(format.isNan(fromF32(floatOf(nan)))) << nan;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ConversionsTest, ::testing::ValuesIn(kTested),
                         [](const auto& info) { return info.param.format.name; });

TEST(Conversions, KnownValues) {
  static_assert(f32ToF16(1.0f) == 0x3c00 && f32ToF16(65504.0f) == 0x7bff && f32ToF16(65520.0f) == 0x7c00);
  static_assert(f32ToF16(65519.0f) == 0x7bff && f32ToF16(-0.0f) == 0x8000 && f16ToF32(1) == 0x1p-24f);
  static_assert(f32ToBf16(1.0f) == 0x3f80 && bf16ToF32(0x7f7f) == 0x1.fep127f &&
                f32ToBf16(0x1.fffffep127f) == 0x7f80);
  static_assert(f32ToF8e4m3(448.0f) == 0x7e && f32ToF8e4m3(1e30f) == 0x7e && f32ToF8e4m3(-1e30f) == 0xfe);
  static_assert(f8e4m3ToF32(0x7e) == 448.0f && f8e4m3ToF32(1) == 0x1p-9f && f8e4m3ToF32(0x38) == 1.0f);
  static_assert(f32ToF8e5m2(57344.0f) == 0x7b && f32ToF8e5m2(1e30f) == 0x7b && f8e5m2ToF32(1) == 0x1p-16f);
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(f32ToF16(-infinity), 0xfc00);
  EXPECT_EQ(f32ToBf16(-infinity), 0xff80);
  EXPECT_EQ(f32ToF8e5m2(infinity), 0x7c);
  EXPECT_EQ(f32ToF8e5m2(-infinity), 0xfc);
  EXPECT_EQ(f32ToF8e4m3(infinity), 0x7e);
  EXPECT_EQ(f32ToF8e4m3(-infinity), 0xfe);
}

}  // namespace
}  // namespace tutti
