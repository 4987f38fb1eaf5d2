// All 2^32 f32 to each small float, by kernels/floats.h and by every SIMD version of reduceCopy, against
// intervals computed from the formats' definition. Takes about a minute.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "kernels/floats.h"
#include "kernels/reduce_copy.h"
#include "tests/kernels/small_float_formats.h"

namespace tutti {
namespace {

constexpr std::uint32_t kChunk = 1u << 14;

// Which code each of the magnitudes first, first + 1, ... becomes; called with rising `first`.
class Expectation {
 public:
  explicit Expectation(const SmallFormat& format) : upper_(upperBounds(format)) {}
  template <class Code>
  void fill(std::uint32_t first, Code sign, std::vector<Code>& codes) {
    for (std::uint32_t i = 0; i < codes.size();) {
      while (first + i > upper_[code_]) ++code_;
      const std::uint32_t end = std::min<std::uint32_t>(codes.size(), upper_[code_] - first + 1);
      for (; i < end; ++i) codes[i] = static_cast<Code>(sign | code_);
    }
  }

 private:
  std::vector<std::uint32_t> upper_;
  std::uint32_t code_ = 0;
};

template <class Code, class Narrow>
void checkAll(const SmallFormat& format, DataType type, Narrow narrow) {
  const Reduction reduction{type, Operation::sum, 1};
  std::vector<ReduceCopyFunction> versions;
  std::string names;
  for (std::string_view target : reduceCopyTargets()) {
    if (target == "reference") continue;
    versions.push_back(reduceCopyFor(type, Operation::sum, target));
    names += " " + std::string(target);
  }
  std::printf("floats.h and targets:%s\n", names.c_str());
  std::vector<float> values(kChunk);
  std::vector<Code> expected(kChunk), got(kChunk);
  for (std::uint32_t sign : {0u, 1u}) {
    Expectation expectation(format);
    const Code signCode = static_cast<Code>(sign << (format.width - 1));
    for (std::uint32_t first = 0; first < 0x80000000u; first += kChunk) {
      // The numbers end at Inf, 0x7f800000, which lies at the start of a chunk; the rest are NaNs.
      const bool nans = first >= 0x7f800000u;
      for (std::uint32_t i = 0; i < kChunk; ++i) values[i] = floatOf(sign << 31 | (first + i));
      if (!nans) expectation.fill(first, signCode, expected);
      const auto isWrong = [&, nans, first](std::uint32_t i) {
        if (!nans) return got[i] != expected[i];
        if (first + i == 0x7f800000u) {
          return got[i] != (signCode | (format.ieee ? format.infinityCode() : format.lastFiniteCode()));
        }
        return !format.isNan(got[i]) || (got[i] >> (format.width - 1)) != static_cast<Code>(sign);
      };
      for (std::uint32_t i = 0; i < kChunk; ++i) got[i] = narrow(values[i]);
      for (std::size_t version = 0; version <= versions.size(); ++version) {
        std::uint32_t wrong = 0;
        if (nans || got != expected) {
          for (std::uint32_t i = 0; i < kChunk; ++i) wrong += isWrong(i);
        }
        ASSERT_EQ(wrong, 0u) << "version " << version << " (0 is floats.h) in the chunk of " << sign << " "
                             << first;
        if (version == versions.size()) break;
        std::fill(got.begin(), got.end(), Code{0x55});
        const Source source{values.data(), Form::partial};
        const Destination destination{got.data(), Form::result};
        versions[version](reduction, &source, 1, &destination, 1, kChunk);
      }
    }
  }
}

TEST(ConversionsLong, F16) {
  checkAll<std::uint16_t>(kF16, DataType::f16, f32ToF16);
}
TEST(ConversionsLong, Bf16) {
  checkAll<std::uint16_t>(kBf16, DataType::bf16, f32ToBf16);
}
TEST(ConversionsLong, F8e4m3) {
  checkAll<std::uint8_t>(kF8e4m3, DataType::f8e4m3, f32ToF8e4m3);
}
TEST(ConversionsLong, F8e5m2) {
  checkAll<std::uint8_t>(kF8e5m2, DataType::f8e5m2, f32ToF8e5m2);
}

}  // namespace
}  // namespace tutti
