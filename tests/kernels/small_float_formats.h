// The small floats from their definition, in f64 arithmetic, independent of kernels/floats.h: what each code
// means, and which f32 round to it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tutti {

struct SmallFormat {
  const char* name;
  int width, mantissaBits, bias;
  bool ieee;       // the highest exponent means Inf and NaN; otherwise only its last code is a NaN
  bool saturates;  // finite overflow gives the largest finite number

  std::uint32_t nmagnitudes() const { return 1u << (width - 1); }
  std::uint32_t infinityCode() const {  // only ieee
    return ((1u << (width - 1 - mantissaBits)) - 1) << mantissaBits;
  }
  std::uint32_t lastFiniteCode() const { return ieee ? infinityCode() - 1 : nmagnitudes() - 2; }
  bool isNan(std::uint32_t code) const {
    return (code & (nmagnitudes() - 1)) > (ieee ? infinityCode() : lastFiniteCode());
  }
  // As if the exponent had no end: also says where the number after the last finite one would be.
  double valueOf(std::uint32_t magnitude) const {
    const int exponent = static_cast<int>(magnitude >> mantissaBits);
    const double mantissa = magnitude & ((1u << mantissaBits) - 1);
    const double one = 1u << mantissaBits;
    if (exponent == 0) return std::ldexp(mantissa / one, 1 - bias);
    return std::ldexp(1 + mantissa / one, exponent - bias);
  }
};

inline constexpr SmallFormat kF16{"f16", 16, 10, 15, true, false};
inline constexpr SmallFormat kBf16{"bf16", 16, 7, 127, true, false};
inline constexpr SmallFormat kF8e4m3{"f8e4m3", 8, 3, 7, false, true};
inline constexpr SmallFormat kF8e5m2{"f8e5m2", 8, 2, 15, true, true};

inline std::uint32_t bitsOf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline float floatOf(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// For each magnitude code that a number can become, the largest f32 (as bits) that becomes it.
inline std::vector<std::uint32_t> upperBounds(const SmallFormat& format) {
  std::vector<std::uint32_t> upper;
  for (std::uint32_t code = 0; code <= format.lastFiniteCode(); ++code) {
    const double middle = (format.valueOf(code) + format.valueOf(code + 1)) / 2;
    const bool even = (code & 1) == 0;  // ties go to the even code
    upper.push_back(even ? bitsOf(static_cast<float>(middle)) : bitsOf(static_cast<float>(middle)) - 1);
  }
  if (format.saturates) upper.back() = 0x7f7fffff;
  if (format.ieee) upper.push_back(0x7f800000);
  if (!format.ieee) upper.back() = 0x7f800000;
  return upper;
}

}  // namespace tutti
