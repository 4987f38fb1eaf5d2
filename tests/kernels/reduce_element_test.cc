// The scalar reference against values known by other means: wide or f64 arithmetic, tables, and the rules of
// docs/numerics.md.
#include "kernels/reduce_element.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/reduce_copy.h"

namespace tutti {
namespace {

// reduce(sources) of one type, in rank order, to a result, by the reference; every other version must agree.
template <class T>
T reduce(DataType type, Operation operation, const std::vector<T>& values, std::uint32_t nranks = 1) {
  std::vector<Source> sources;
  for (const T& value : values) sources.push_back({&value, Form::raw});
  T result{};
  const Destination destination{&result, Form::result};
  const Reduction reduction{type, operation, nranks};
  const int nsources = static_cast<int>(sources.size());
  for (std::string_view target : reduceCopyTargets()) {  // ends with the reference
    T other = result;
    reduceCopyFor(type, operation, target)(reduction, sources.data(), nsources, &destination, 1, 1);
    other = result;
    reduceCopyReference(reduction, sources.data(), nsources, &destination, 1, 0, 1, 1);
    if (!(other != other && result != result)) {
      EXPECT_EQ(std::memcmp(&other, &result, sizeof(T)), 0) << target;
    }
  }
  return result;
}

template <class T>
struct TypeOf;
template <>
struct TypeOf<std::int8_t> {
  static constexpr DataType kType = DataType::i8;
};
template <>
struct TypeOf<std::uint8_t> {
  static constexpr DataType kType = DataType::u8;
};
template <>
struct TypeOf<std::int32_t> {
  static constexpr DataType kType = DataType::i32;
};
template <>
struct TypeOf<std::uint32_t> {
  static constexpr DataType kType = DataType::u32;
};
template <>
struct TypeOf<std::int64_t> {
  static constexpr DataType kType = DataType::i64;
};
template <>
struct TypeOf<std::uint64_t> {
  static constexpr DataType kType = DataType::u64;
};

template <class T>
class IntegerTest : public ::testing::Test {};
using Integers =
    ::testing::Types<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerTest, Integers);

TYPED_TEST(IntegerTest, SumsAndProductsWrap) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  constexpr DataType kType = TypeOf<T>::kType;
  EXPECT_EQ(reduce<T>(kType, Operation::sum, {Limits::max(), 1}), Limits::min());
  EXPECT_EQ(reduce<T>(kType, Operation::prod, {Limits::max(), 2}), static_cast<T>(-2));
  EXPECT_EQ(reduce<T>(kType, Operation::sum, {3, 4, 5}), 12);
  EXPECT_EQ(reduce<T>(kType, Operation::prod, {3, 4, 5}), 60);
  std::mt19937_64 random(2);
  for (int i = 0; i < 1000; ++i) {
    const T a = static_cast<T>(random()), b = static_cast<T>(random());
    const Uint128 wideA = static_cast<Uint128>(a), wideB = static_cast<Uint128>(b);
    EXPECT_EQ(reduce<T>(kType, Operation::sum, {a, b}), static_cast<T>(wideA + wideB));
    EXPECT_EQ(reduce<T>(kType, Operation::prod, {a, b}), static_cast<T>(wideA * wideB));
    EXPECT_EQ(reduce<T>(kType, Operation::max, {a, b}), std::max(a, b));
    EXPECT_EQ(reduce<T>(kType, Operation::min, {a, b}), std::min(a, b));
  }
}

TYPED_TEST(IntegerTest, AveragesAreExactAndTruncate) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  constexpr DataType kType = TypeOf<T>::kType;
  for (T extreme : {Limits::max(), Limits::min()}) {
    EXPECT_EQ(reduce<T>(kType, Operation::avg, std::vector<T>(9, extreme), 9), extreme);
    EXPECT_EQ(reduce<T>(kType, Operation::avg, std::vector<T>(65, extreme), 65), extreme);
  }
  EXPECT_EQ(reduce<T>(kType, Operation::avg, {3, 4}, 2), 3);
  EXPECT_EQ(reduce<T>(kType, Operation::avg, {5, 0, 0}, 3), 1);
  if (Limits::is_signed) {
    EXPECT_EQ(reduce<T>(kType, Operation::avg, {static_cast<T>(-3), static_cast<T>(-4)}, 2),
              static_cast<T>(-3));
    EXPECT_EQ(reduce<T>(kType, Operation::avg, {static_cast<T>(-1), 0}, 2), 0);
    EXPECT_EQ(reduce<T>(kType, Operation::avg, {Limits::min(), 0}, 0xffffffff),
              sizeof(T) == 8 ? -2147483648LL : 0);
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 1000; ++i) {
    std::vector<T> values(1 + random() % 9);
    Int128 sum = 0;
    for (T& value : values) sum += value = static_cast<T>(random());
    const auto nranks = static_cast<std::uint32_t>(values.size());
    if (nranks == 1) continue;  // a call that copies or divides by one
    EXPECT_EQ(reduce<T>(kType, Operation::avg, values, nranks), static_cast<T>(sum / nranks));
  }
}

// The quotient of a partial of any value, not only of what elements sum up to.
TEST(IntegerAverages, AllDivisorsOfWidePartials) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 20000; ++i) {
    const std::uint32_t nranks = static_cast<std::uint32_t>(random() >> (32 + random() % 32)) | 1;
    const std::uint32_t partial = static_cast<std::uint32_t>(random() >> (32 + random() % 32));
    const Source source{&partial, Form::partial};
    std::uint8_t result;
    const Destination destination{&result, Form::result};
    for (std::string_view target : reduceCopyTargets()) {
      for (DataType type : {DataType::i8, DataType::u8}) {
        reduceCopyFor(type, Operation::avg, target)({type, Operation::avg, nranks}, &source, 1, &destination,
                                                    1, 1);
        const std::int64_t sum =
            type == DataType::u8 ? std::int64_t{partial} : static_cast<std::int32_t>(partial);
        EXPECT_EQ(result, static_cast<std::uint8_t>(sum / nranks)) << sum << " / " << nranks;
      }
    }
  }
}

template <class Float>
class FloatTest : public ::testing::Test {
 protected:
  static constexpr DataType kType = sizeof(Float) == 4 ? DataType::f32 : DataType::f64;
};
using Floats = ::testing::Types<float, double>;
TYPED_TEST_SUITE(FloatTest, Floats);

TYPED_TEST(FloatTest, MinimumAndMaximum) {
  using T = TypeParam;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T ordered[] = {-kInfinity,
                       std::numeric_limits<T>::lowest(),
                       T{-1},
                       -std::numeric_limits<T>::denorm_min(),
                       T{-0.0},
                       T{0.0},
                       std::numeric_limits<T>::denorm_min(),
                       T{1},
                       std::numeric_limits<T>::max(),
                       kInfinity};
  const auto same = [](T a, T b) { return std::memcmp(&a, &b, sizeof(T)) == 0; };
  for (std::size_t i = 0; i < std::size(ordered); ++i) {
    for (std::size_t j = 0; j < std::size(ordered); ++j) {
      const T low = ordered[std::min(i, j)], high = ordered[std::max(i, j)];
      EXPECT_TRUE(same(reduce<T>(this->kType, Operation::min, {ordered[i], ordered[j]}), low))
          << i << " " << j;
      EXPECT_TRUE(same(reduce<T>(this->kType, Operation::max, {ordered[i], ordered[j]}), high))
          << i << " " << j;
    }
    for (T someNan : {nan, -nan, std::numeric_limits<T>::signaling_NaN()}) {
      for (Operation operation : {Operation::min, Operation::max}) {
        EXPECT_TRUE(std::isnan(reduce<T>(this->kType, operation, {ordered[i], someNan})));
        EXPECT_TRUE(std::isnan(reduce<T>(this->kType, operation, {someNan, ordered[i]})));
        EXPECT_TRUE(std::isnan(reduce<T>(this->kType, operation, {someNan, ordered[i], ordered[i]})));
      }
    }
  }
  EXPECT_TRUE(std::isnan(reduce<T>(this->kType, Operation::max, {nan, nan})));
}

TYPED_TEST(FloatTest, SumsInOrderAndAverages) {
  using T = TypeParam;
  const T big = std::numeric_limits<T>::epsilon() == T(0x1p-23) ? T(0x1p24) : T(0x1p53);
  EXPECT_EQ(reduce<T>(this->kType, Operation::sum, {big, 1, 1}), big);      // each lost to even
  EXPECT_EQ(reduce<T>(this->kType, Operation::sum, {1, 1, big}), big + 2);  // the order counts
  EXPECT_EQ(reduce<T>(this->kType, Operation::avg, {1, 2, 4}, 3), T{7} / T{3});
  EXPECT_EQ(reduce<T>(this->kType, Operation::prod, {3, 5, T{0.5}}), T{7.5});
}

TEST(SmallFloats, AddInF32AndRoundOnce) {
  // 2048 + 1 + 1 in f16 steps would stay 2048 (ties to even); in f32 it is 2050.
  EXPECT_EQ(reduce<std::uint16_t>(DataType::f16, Operation::sum, {f32ToF16(2048), f32ToF16(1), f32ToF16(1)}),
            f32ToF16(2050));
  EXPECT_EQ(
      reduce<std::uint16_t>(DataType::bf16, Operation::sum, {f32ToBf16(256), f32ToBf16(1), f32ToBf16(1)}),
      f32ToBf16(258));
  // Over the top and back: Inf only if the sum is.
  EXPECT_EQ(reduce<std::uint16_t>(DataType::f16, Operation::sum, {0x7bff, 0x7bff, 0xfbff}), 0x7bff);
  EXPECT_EQ(reduce<std::uint16_t>(DataType::f16, Operation::sum, {0x7bff, 0x7bff}), 0x7c00);
  EXPECT_EQ(reduce<std::uint16_t>(DataType::f16, Operation::avg, {0x7bff, 0x7bff}, 2), 0x7bff);
  // One division in f32, one rounding.
  EXPECT_EQ(reduce<std::uint16_t>(DataType::f16, Operation::avg, {f32ToF16(1), f32ToF16(2), f32ToF16(2)}, 3),
            f32ToF16(5.0f / 3.0f));
}

TEST(SmallFloats, RandomSumsAgainstF64) {
  // Two addends of a small float: f64 holds the exact sum, and where f32 holds it too, the result is the
  // exact sum rounded once.
  std::mt19937_64 random(6);
  const auto check = [&](DataType type, auto widen, auto narrow, std::uint32_t codes) {
    using Code = decltype(narrow(1.0f));
    for (int i = 0; i < 200000; ++i) {
      const Code a = static_cast<Code>(random() % codes), b = static_cast<Code>(random() % codes);
      const double exact = static_cast<double>(widen(a)) + static_cast<double>(widen(b));
      if (exact != static_cast<float>(exact)) continue;
      const Source sources[] = {{&a, Form::raw}, {&b, Form::raw}};
      Code result;
      const Destination destination{&result, Form::result};
      reduceCopyReference({type, Operation::sum}, sources, 2, &destination, 1, 0, 1, 1);
      ASSERT_EQ(result, narrow(static_cast<float>(exact))) << nameOf(type) << " " << +a << " " << +b;
    }
  };
  check(DataType::f16, f16ToF32, f32ToF16, 1u << 16);
  check(DataType::bf16, bf16ToF32, f32ToBf16, 1u << 16);
  check(DataType::f8e4m3, f8e4m3ToF32, f32ToF8e4m3, 1u << 8);
  check(DataType::f8e5m2, f8e5m2ToF32, f32ToF8e5m2, 1u << 8);
}

// All pairs of finite codes, and all finite codes many times over: never NaN, never Inf.
TEST(EightBitFloats, FiniteInputsStayFinite) {
  for (DataType type : {DataType::f8e4m3, DataType::f8e5m2}) {
    const int firstSpecial = type == DataType::f8e4m3 ? 0x7f : 0x7c;
    for (int o = 0; o < kOperations; ++o) {
      const Operation operation = static_cast<Operation>(o);
      std::vector<std::uint8_t> a, b;
      for (int first = 0; first < 256; ++first) {
        for (int second = 0; second < 256; ++second) {
          if ((first & 0x7f) >= firstSpecial || (second & 0x7f) >= firstSpecial) continue;
          a.push_back(static_cast<std::uint8_t>(first));
          b.push_back(static_cast<std::uint8_t>(second));
        }
      }
      // 1 + 1 addends, and (for products, beyond the range of f32) 40 of each.
      for (int times : {1, 40}) {
        std::vector<Source> sources;
        for (int k = 0; k < times; ++k) {
          sources.push_back({a.data(), Form::raw});
          sources.push_back({b.data(), Form::raw});
        }
        for (std::string_view target : reduceCopyTargets()) {
          std::vector<std::uint8_t> result(a.size());
          std::vector<float> partial(a.size());
          const Destination destinations[] = {{result.data(), Form::result}, {partial.data(), Form::partial}};
          reduceCopyFor(type, operation, target)({type, operation, 2}, sources.data(), 2 * times,
                                                 destinations, 2, a.size());
          for (std::size_t i = 0; i < a.size(); ++i) {
            ASSERT_LT(result[i] & 0x7f, firstSpecial)
                << target << " " << nameOf(operation) << " " << +a[i] << +b[i];
            ASSERT_TRUE(std::isfinite(partial[i]))
                << target << " " << nameOf(operation) << " " << +a[i] << +b[i];
          }
        }
      }
    }
  }
  EXPECT_EQ(reduce<std::uint8_t>(DataType::f8e4m3, Operation::sum, {0x7e, 0x7e}), 0x7e);
  EXPECT_EQ(reduce<std::uint8_t>(DataType::f8e4m3, Operation::sum, {0x7e, 0x7f}) & 0x7f, 0x7f);  // NaN stays
}

TEST(Forms, OneSourceOfEqualFormsIsACopy) {
  // A signalling NaN's payload, which arithmetic would change; and avg does not divide.
  const std::uint32_t in = 0xff812345;
  std::uint32_t out = 0;
  for (Form form : {Form::raw, Form::partial, Form::result}) {
    const Source source{&in, form};
    const Destination destination{&out, form};
    out = 0;
    reduceCopyReference({DataType::f32, Operation::avg, 3}, &source, 1, &destination, 1, 0, 1, 1);
    EXPECT_EQ(out, in);
  }
}

TEST(Forms, PartialOfI64AverageIs128BitsLittleEndian) {
  const std::int64_t in[] = {std::numeric_limits<std::int64_t>::min(), -1};
  const Source sources[] = {{&in[0], Form::raw}, {&in[1], Form::raw}};
  unsigned char out[17];
  const Destination destination{out + 1, Form::partial};  // no alignment
  reduceCopy({DataType::i64, Operation::avg, 2}, sources, 2, &destination, 1, 1);
  const unsigned char expected[16] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
                                      0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  EXPECT_EQ(std::memcmp(out + 1, expected, 16), 0);
}

TEST(Forms, ThroughPartialsIsTheSameAsAtOnce) {
  const std::uint16_t in[] = {f32ToF16(1000), f32ToF16(0.3f), f32ToF16(-7)};
  float partial;
  std::uint16_t twice, once;
  const Source first[] = {{&in[0], Form::raw}, {&in[1], Form::raw}};
  const Source second[] = {{&partial, Form::partial}, {&in[2], Form::raw}};
  const Source all[] = {{&in[0], Form::raw}, {&in[1], Form::raw}, {&in[2], Form::raw}};
  const Destination toPartial{&partial, Form::partial}, toTwice{&twice, Form::result},
      toOnce{&once, Form::result};
  const Reduction reduction{DataType::f16, Operation::avg, 3};
  reduceCopy(reduction, first, 2, &toPartial, 1, 1);
  reduceCopy(reduction, second, 2, &toTwice, 1, 1);
  reduceCopy(reduction, all, 3, &toOnce, 1, 1);
  EXPECT_EQ(twice, once);
}

}  // namespace
}  // namespace tutti
