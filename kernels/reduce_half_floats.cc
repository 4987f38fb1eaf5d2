// The SIMD versions of reduceCopy for f16 and bf16, which are added in f32.
#include "kernels/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_half_floats.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/reduce_copy-inl.h"
#include "kernels/reduce_copy_versions.h"
#include "kernels/small_floats-inl.h"

#if !TUTTI_TARGET_IS_EMPTY
HWY_BEFORE_NAMESPACE();
namespace tutti {
namespace HWY_NAMESPACE {

struct F16Elements {
  using Accumulator = float;
  using Storage = std::uint16_t;
  static constexpr bool kPlain = false;
  template <class D>
  static HWY_INLINE hn::VFromD<D> widen(D d, hn::VFromD<hn::Rebind<Storage, D>> v) {
#if TUTTI_HAS_F16_INSTRUCTIONS
    return widenF16(d, v);
#else
    return widenCodes<FormatF16>(d, hn::PromoteTo(hn::RebindToSigned<D>(), v));
#endif
  }
  template <class D>
  static HWY_INLINE hn::VFromD<hn::Rebind<Storage, D>> narrow(D d, hn::VFromD<D> v) {
#if TUTTI_HAS_F16_INSTRUCTIONS
    return narrowF16<_MM_FROUND_TO_NEAREST_INT>(d, v);
#else
    const hn::RebindToUnsigned<D> du;
    return hn::TruncateTo(hn::Rebind<Storage, D>(), hn::BitCast(du, narrowCodes<FormatF16>(d, v)));
#endif
  }
};

struct Bf16Elements {
  using Accumulator = float;
  using Storage = std::uint16_t;
  static constexpr bool kPlain = false;
  template <class D>
  static HWY_INLINE hn::VFromD<D> widen(D d, hn::VFromD<hn::Rebind<Storage, D>> v) {
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(hn::RebindToUnsigned<D>(), v)));
  }
  template <class D>
  static HWY_INLINE hn::VFromD<hn::Rebind<Storage, D>> narrow(D, hn::VFromD<D> v) {
    const hn::RebindToSigned<D> di;
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff)));
    const auto quiet = hn::Or(bits, hn::Set(du, 0x400000));
    const auto isNan = hn::RebindMask(
        du, hn::Gt(hn::BitCast(di, hn::And(bits, hn::Set(du, 0x7fffffff))), hn::Set(di, 0x7f800000)));
    const auto code = hn::ShiftRight<16>(hn::IfThenElse(isNan, quiet, rounded));
    return hn::TruncateTo(hn::Rebind<Storage, D>(), code);
  }
};

ReduceCopyFunction chooseHalfFloats(DataType type, Operation operation) {
  return type == DataType::f16 ? chooseFloatKernel<F16Elements>(operation)
                               : chooseFloatKernel<Bf16Elements>(operation);
}

}  // namespace HWY_NAMESPACE
}  // namespace tutti
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace tutti {
ReduceCopyFunction reduceCopyHalfFloats(std::int64_t target, DataType type, Operation operation) {
  TUTTI_CALL_TARGET(target, chooseHalfFloats, type, operation);
  return nullptr;
}
}  // namespace tutti
#endif
