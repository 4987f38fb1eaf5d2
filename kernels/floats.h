// Our own conversions between f32 and the floats that C++ has no type for: f16, bf16 and the two OCP 8-bit
// formats, on integer codes, rounding to nearest even. They are the specification: whatever converts faster
// (SIMD, a GPU) gives the same codes; of a NaN only that it is one.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tutti {

// A float of `kWidth` bits with `kMantissaBits` of mantissa. `kClamp` is the f32 that everything larger is
// replaced by before rounding: the largest finite number where the format saturates, 2^16 (which rounds to
// Inf) where it overflows. `kInfinity` and `kNan` are the codes that an infinity and a NaN become.
struct FormatF16 {
  static constexpr int kWidth = 16, kMantissaBits = 10, kBias = 15;
  static constexpr std::uint32_t kClamp = 0x47800000, kInfinity = 0x7c00, kNan = 0x7e00;
  static constexpr std::uint32_t kFirstSpecial = 0x7c00;  // the smallest code that is no finite number
};
struct FormatF8E5M2 {
  static constexpr int kWidth = 8, kMantissaBits = 2, kBias = 15;
  static constexpr std::uint32_t kClamp = 0x47600000 /* 57344 */, kInfinity = 0x7c, kNan = 0x7e;
  static constexpr std::uint32_t kFirstSpecial = 0x7c;
};
struct FormatF8E4M3 {
  static constexpr int kWidth = 8, kMantissaBits = 3, kBias = 7;
  static constexpr std::uint32_t kClamp = 0x43e00000 /* 448 */, kInfinity = 0x7e /* no Inf: 448 */,
                                 kNan = 0x7f;
  static constexpr std::uint32_t kFirstSpecial = 0x7f;
};

template <class Format>
TUTTI_HOST_DEVICE constexpr float widenFloat(std::uint32_t code) {
  constexpr int kShift = 23 - Format::kMantissaBits;
  constexpr std::uint32_t kSmallestNormal = static_cast<std::uint32_t>(128 - Format::kBias) << 23;
  constexpr std::uint32_t kMagnitude = (1u << (Format::kWidth - 1)) - 1;
  const std::uint32_t magnitude = code & kMagnitude;
  const std::uint32_t sign = (code & (kMagnitude + 1)) << (32 - Format::kWidth);
  std::uint32_t bits = magnitude << kShift;
  if (magnitude < (1u << Format::kMantissaBits)) {
    // Subnormal: put the mantissa below the smallest normal number and take that number away again. Nothing
    // here is subnormal in f32, so FTZ and DAZ do not matter.
    bits = bitCast<std::uint32_t>(bitCast<float>(bits + kSmallestNormal) - bitCast<float>(kSmallestNormal));
  } else if (magnitude >= Format::kFirstSpecial) {
    bits |=
        0x7f800000;  // e4m3's only NaN has mantissa bits; so have those of the others, and their Inf has none
  } else {
    bits += static_cast<std::uint32_t>(127 - Format::kBias) << 23;
  }
  return bitCast<float>(bits | sign);
}

template <class Format>
TUTTI_HOST_DEVICE constexpr std::uint32_t narrowFloat(float value) {
  constexpr int kShift = 23 - Format::kMantissaBits;
  constexpr std::uint32_t kSmallestNormal = static_cast<std::uint32_t>(128 - Format::kBias) << 23;
  // The f32 whose last bit weighs as much as the last bit of the format's subnormals.
  constexpr std::uint32_t kAligner = static_cast<std::uint32_t>(151 - Format::kBias - Format::kMantissaBits)
                                     << 23;
  const std::uint32_t bits = bitCast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 31 << (Format::kWidth - 1);
  std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | Format::kNan;
  if (magnitude == 0x7f800000) return sign | Format::kInfinity;
  if (magnitude > Format::kClamp) magnitude = Format::kClamp;
  if (magnitude < kSmallestNormal) {
    // The f32 addition rounds to nearest even at the right bit.
    return sign | (bitCast<std::uint32_t>(bitCast<float>(magnitude) + bitCast<float>(kAligner)) - kAligner);
  }
  magnitude -= static_cast<std::uint32_t>(127 - Format::kBias) << 23;
  magnitude += (1u << (kShift - 1)) - 1 + (magnitude >> kShift & 1);
  return sign | magnitude >> kShift;
}

TUTTI_HOST_DEVICE constexpr float f16ToF32(std::uint16_t code) {
  return widenFloat<FormatF16>(code);
}
TUTTI_HOST_DEVICE constexpr float f8e4m3ToF32(std::uint8_t code) {
  return widenFloat<FormatF8E4M3>(code);
}
TUTTI_HOST_DEVICE constexpr float f8e5m2ToF32(std::uint8_t code) {
  return widenFloat<FormatF8E5M2>(code);
}
TUTTI_HOST_DEVICE constexpr float bf16ToF32(std::uint16_t code) {
  return bitCast<float>(static_cast<std::uint32_t>(code) << 16);
}

// Overflow gives Inf, as IEEE 754 says.
TUTTI_HOST_DEVICE constexpr std::uint16_t f32ToF16(float value) {
  return static_cast<std::uint16_t>(narrowFloat<FormatF16>(value));
}
// Finite overflow gives +-448, as does Inf, which the format does not have.
TUTTI_HOST_DEVICE constexpr std::uint8_t f32ToF8e4m3(float value) {
  return static_cast<std::uint8_t>(narrowFloat<FormatF8E4M3>(value));
}
// Finite overflow gives +-57344; Inf stays Inf.
TUTTI_HOST_DEVICE constexpr std::uint8_t f32ToF8e5m2(float value) {
  return static_cast<std::uint8_t>(narrowFloat<FormatF8E5M2>(value));
}
// Overflow gives Inf, as IEEE 754 says.
TUTTI_HOST_DEVICE constexpr std::uint16_t f32ToBf16(float value) {
  const std::uint32_t bits = bitCast<std::uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace tutti
