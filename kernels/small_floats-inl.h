// The conversions of kernels/floats.h on vectors, for Highway to compile once per target: the same steps on
// integer lanes, without branches, or f16's instructions where they give the same. Highway 1.0.3's own
// conversions truncate bf16 and are wrong for f16 on some targets.

#if defined(TUTTI_SMALL_FLOATS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_SMALL_FLOATS_INL_H_
#undef TUTTI_SMALL_FLOATS_INL_H_
#else
#define TUTTI_SMALL_FLOATS_INL_H_
#endif
#undef TUTTI_HAS_F16_INSTRUCTIONS

#include <cstdint>

#include "hwy/highway.h"
#include "kernels/floats.h"

#if !TUTTI_TARGET_IS_EMPTY

HWY_BEFORE_NAMESPACE();
namespace tutti {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// --- f16 by instruction
// --------------------------------------------------------------------------------------- AVX2 and AVX-512
// convert f16 exactly as floats.h does, whatever DAZ and FTZ say.

#if HWY_TARGET == HWY_AVX3
#define TUTTI_HAS_F16_INSTRUCTIONS 1
template <class D>
HWY_INLINE hn::VFromD<D> widenF16(D, hn::VFromD<hn::Rebind<std::uint16_t, D>> v) {
  return hn::VFromD<D>{_mm512_cvtph_ps(v.raw)};
}
template <int rounding, class D>
HWY_INLINE hn::VFromD<hn::Rebind<std::uint16_t, D>> narrowF16(D, hn::VFromD<D> v) {
  return hn::VFromD<hn::Rebind<std::uint16_t, D>>{_mm512_cvtps_ph(v.raw, rounding)};
}
#elif HWY_TARGET == HWY_AVX2
#define TUTTI_HAS_F16_INSTRUCTIONS 1
template <class D>
HWY_INLINE hn::VFromD<D> widenF16(D, hn::VFromD<hn::Rebind<std::uint16_t, D>> v) {
  return hn::VFromD<D>{_mm256_cvtph_ps(v.raw)};
}
template <int rounding, class D>
HWY_INLINE hn::VFromD<hn::Rebind<std::uint16_t, D>> narrowF16(D, hn::VFromD<D> v) {
  return hn::VFromD<hn::Rebind<std::uint16_t, D>>{_mm256_cvtps_ph(v.raw, rounding)};
}
#else
#define TUTTI_HAS_F16_INSTRUCTIONS 0
#endif

#if TUTTI_HAS_F16_INSTRUCTIONS
// fp8 by way of f16, which holds all of e5m2, and all of e4m3 times 2^-8, with the mantissa in the same place
// up to a shift; in 16-bit lanes that is about half the work of widenCodes and narrowCodes.
template <class Format, class D>
HWY_INLINE hn::VFromD<D> widenByF16(D d, hn::VFromD<hn::Rebind<std::uint8_t, D>> v) {
  const hn::Rebind<std::uint16_t, D> d16;
  const auto code = hn::PromoteTo(d16, v);
  if constexpr (Format::kMantissaBits == 2) {
    return widenF16(d, hn::ShiftLeft<8>(code));
  } else {
    const auto magnitude = hn::And(code, hn::Set(d16, 0x7f));
    const auto sign = hn::ShiftLeft<8>(hn::AndNot(hn::Set(d16, 0x7f), code));
    const auto nan =
        hn::And(hn::VecFromMask(d16, hn::Eq(magnitude, hn::Set(d16, 0x7f))), hn::Set(d16, 0x7fff));
    const auto f16 = hn::Or(hn::Or(hn::ShiftLeft<7>(magnitude), sign), nan);
    return hn::Mul(widenF16(d, f16), hn::Set(d, 256.0f));
  }
}

// Rounding twice would be wrong. So f32 is truncated to f16, and the last bit set if that lost anything
// ("round to odd"); with five bits and more to spare, the second rounding then sees on which side of a tie
// the number was.
template <class Format, class D>
HWY_INLINE hn::VFromD<hn::Rebind<std::uint8_t, D>> narrowByF16(D d, hn::VFromD<D> value) {
  constexpr int kShift = 10 - Format::kMantissaBits;
  constexpr bool kIsE5m2 = Format::kMantissaBits == 2;
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::Rebind<std::int16_t, D> di16;
  [[maybe_unused]] const hn::RebindToUnsigned<D> du;
  if constexpr (!kIsE5m2) value = hn::Mul(value, hn::Set(d, 0x1p-8f));
  const auto truncated = narrowF16<_MM_FROUND_TO_ZERO>(d, value);
  const auto lost = hn::Ne(widenF16(d, truncated), value);
  const auto last = hn::Set(d16, 1);
#if HWY_TARGET == HWY_AVX3
  // A mask of 16 lanes is one whatever their width.
  const hn::Mask256<std::uint16_t> lost16{lost.raw};
  const auto f16 = hn::IfThenElse(lost16, hn::Or(truncated, last), truncated);
#else
  const auto lost32 = hn::VecFromMask(du, hn::RebindMask(du, lost));
  const auto f16 = hn::Or(truncated, hn::And(hn::TruncateTo(d16, lost32), last));
#endif
  const auto magnitude = hn::And(f16, hn::Set(d16, 0x7fff));
  const auto sign = hn::ShiftRight<8>(hn::Xor(f16, magnitude));
  const auto finite = hn::Min(magnitude, hn::Set(d16, kIsE5m2 ? 0x7b00 : 0x3f00));
  const auto odd = hn::And(hn::ShiftRight<kShift>(finite), last);
  const auto rounded =
      hn::ShiftRight<kShift>(hn::Add(hn::Add(finite, odd), hn::Set(d16, (1 << (kShift - 1)) - 1)));
  // Inf and NaN of e5m2 are those of f16, cut off (a quiet NaN keeps its highest mantissa bit); e4m3 has one
  // NaN.
  const auto isSpecial =
      hn::RebindMask(d16, hn::Gt(hn::BitCast(di16, magnitude), hn::Set(di16, kIsE5m2 ? 0x7bff : 0x7c00)));
  const auto special = kIsE5m2 ? hn::ShiftRight<8>(magnitude) : hn::Set(d16, 0x7f);
  const auto code = hn::Or(hn::IfThenElse(isSpecial, special, rounded), sign);
  return hn::TruncateTo(hn::Rebind<std::uint8_t, D>(), code);
}
#endif

// --- any small float, by integer operations ---------------------------------------------------------------

// Codes in 32-bit lanes to f32. All magnitudes are below 2^31, so signed comparisons, which are cheaper, do.
template <class Format, class D>
HWY_INLINE hn::VFromD<D> widenCodes(D d, hn::VFromD<hn::RebindToSigned<D>> code) {
  constexpr int kShift = 23 - Format::kMantissaBits;
  constexpr std::int32_t kSmallestNormal = (128 - Format::kBias) << 23;
  constexpr std::int32_t kMagnitude = (1 << (Format::kWidth - 1)) - 1;
  const hn::RebindToSigned<D> di;
  const auto magnitude = hn::And(code, hn::Set(di, kMagnitude));
  const auto sign = hn::ShiftLeft<32 - Format::kWidth>(hn::AndNot(hn::Set(di, kMagnitude), code));
  const auto shifted = hn::ShiftLeft<kShift>(magnitude);
  const auto normal = hn::Add(shifted, hn::Set(di, (127 - Format::kBias) << 23));
  const auto smallest = hn::Set(di, kSmallestNormal);
  const auto subnormal =
      hn::BitCast(di, hn::Sub(hn::BitCast(d, hn::Add(shifted, smallest)), hn::BitCast(d, smallest)));
  const auto special = hn::Or(shifted, hn::Set(di, 0x7f800000));
  auto bits = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 1 << Format::kMantissaBits)), subnormal, normal);
  bits = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, static_cast<std::int32_t>(Format::kFirstSpecial) - 1)),
                        special, bits);
  return hn::BitCast(d, hn::Or(bits, sign));
}

// f32 to codes in 32-bit lanes.
template <class Format, class D>
HWY_INLINE hn::VFromD<hn::RebindToSigned<D>> narrowCodes(D d, hn::VFromD<D> value) {
  constexpr int kShift = 23 - Format::kMantissaBits;
  constexpr std::int32_t kSmallestNormal = (128 - Format::kBias) << 23;
  constexpr std::int32_t kAligner = (151 - Format::kBias - Format::kMantissaBits) << 23;
  constexpr bool kClampIsInfinity = narrowFloat<Format>(bitCast<float>(Format::kClamp)) == Format::kInfinity;
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(di, value);
  const auto all = hn::And(bits, hn::Set(di, 0x7fffffff));
  const auto sign = hn::BitCast(di, hn::ShiftRight<32 - Format::kWidth>(hn::BitCast(du, hn::Xor(bits, all))));
  const auto infinity = hn::Set(di, 0x7f800000);
  const auto magnitude = hn::Min(all, hn::Set(di, static_cast<std::int32_t>(Format::kClamp)));
  const auto aligner = hn::Set(di, kAligner);
  const auto subnormal =
      hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), hn::BitCast(d, aligner))), aligner);
  const auto odd = hn::And(hn::ShiftRight<kShift>(magnitude), hn::Set(di, 1));
  // The exponent's offset is a multiple of 2^23, so it can be taken away together with adding the rounding.
  constexpr std::int32_t kRound = (1 << (kShift - 1)) - 1 - ((127 - Format::kBias) << 23);
  const auto normal = hn::ShiftRight<kShift>(hn::Add(hn::Add(magnitude, hn::Set(di, kRound)), odd));
  auto code = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, kSmallestNormal)), subnormal, normal);
  if constexpr (!kClampIsInfinity) {
    code = hn::IfThenElse(hn::Eq(all, infinity), hn::Set(di, static_cast<std::int32_t>(Format::kInfinity)),
                          code);
  }
  code = hn::IfThenElse(hn::Gt(all, infinity), hn::Set(di, static_cast<std::int32_t>(Format::kNan)), code);
  return hn::Or(code, sign);
}

}  // namespace HWY_NAMESPACE
}  // namespace tutti
HWY_AFTER_NAMESPACE();

#endif  // !TUTTI_TARGET_IS_EMPTY
#endif  // per-target guard
