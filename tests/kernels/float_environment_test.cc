// A caller's flush-to-zero, denormals-are-zero, rounding or unmasked exceptions do not change results under
// the guard, and are there again afterwards.
#include "kernels/float_environment.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <vector>

#include "kernels/reduce_copy.h"

namespace tutti {
namespace {

std::vector<float> addAndRound(std::string_view target) {
  // 1 + 2^-24 depends on the rounding; the smallest denormals on FTZ and DAZ.
  std::vector<float> a(37, 1.0f), b(37, 0x1p-24f), sum(37);
  for (std::size_t i = 0; i < a.size(); i += 2) a[i] = 0x1p-149f, b[i] = 0x1p-148f;
  for (std::size_t i = 0; i < a.size(); i += 3) a[i] = 3e38f, b[i] = 3e38f;  // overflow
  const Source sources[] = {{a.data(), Form::raw}, {b.data(), Form::raw}};
  const Destination destination{sum.data(), Form::result};
  const FloatEnvironment environment;
  reduceCopyFor(DataType::f32, Operation::sum, target)({DataType::f32, Operation::sum}, sources, 2,
                                                       &destination, 1, a.size());
  return sum;
}

#if defined(__SSE2__)
TEST(FloatEnvironmentTest, CallersControlBitsDoNotMatterAndStay) {
  constexpr unsigned kDefault = 0x1f80;
  for (std::string_view target : reduceCopyTargets()) {
    const std::vector<float> expected = addAndRound(target);
    ASSERT_EQ(expected[2], 0x1.8p-148f);
    ASSERT_EQ(expected[1], 1.0f);
    // FTZ, DAZ, both, each rounding mode, overflow and inexact unmasked.
    for (unsigned control : {kDefault | 0x8000, kDefault | 0x0040, kDefault | 0x8040, kDefault | 0x2000,
                             kDefault | 0x4000, kDefault | 0x6000, kDefault & ~0x1400u}) {
      _mm_setcsr(control);
      const std::vector<float> sum = addAndRound(target);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(kDefault);
      EXPECT_EQ(after, control) << target;
      EXPECT_EQ(std::memcmp(sum.data(), expected.data(), sum.size() * 4), 0) << target << " " << control;
    }
  }
}

TEST(FloatEnvironmentTest, WithoutTheGuardTheyWouldMatter) {
  // Otherwise the test above proves nothing.
  float a[] = {0x1p-149f}, b[] = {0x1p-148f}, sum[1];
  const Source sources[] = {{a, Form::raw}, {b, Form::raw}};
  const Destination destination{sum, Form::result};
  _mm_setcsr(0x1f80 | 0x8040);
  reduceCopyFor(DataType::f32, Operation::sum)({DataType::f32, Operation::sum}, sources, 2, &destination, 1,
                                               1);
  _mm_setcsr(0x1f80);
  EXPECT_EQ(bool(std::memcmp(sum, "\0\0\0\0", 4)), false);
}

TEST(FloatEnvironmentTest, FlagsAloneAreLeftAlone) {
  _mm_setcsr(0x1f80 | 0x3f);
  { const FloatEnvironment environment; }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(0x1f80);
  EXPECT_EQ(after, 0x1f80u | 0x3f);
}
#else
TEST(FloatEnvironmentTest, CallersRoundingDoesNotMatterAndStays) {
  for (std::string_view target : reduceCopyTargets()) {
    const std::vector<float> expected = addAndRound(target);
    for (int rounding : {FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO}) {
      std::fesetround(rounding);
      const std::vector<float> sum = addAndRound(target);
      const int after = std::fegetround();
      std::fesetround(FE_TONEAREST);
      EXPECT_EQ(after, rounding);
      EXPECT_EQ(std::memcmp(sum.data(), expected.data(), sum.size() * 4), 0) << target;
    }
  }
}
#endif

}  // namespace
}  // namespace tutti
