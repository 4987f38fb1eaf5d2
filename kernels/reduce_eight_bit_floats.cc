// The SIMD versions of reduceCopy for the two 8-bit floats, which are added in f32. Their sums cannot
// overflow it, and their products are held back from its infinity, so that what is rounded at the end is
// finite and saturates.
#include "kernels/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_eight_bit_floats.cc"
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

template <class Format>
struct EightBitElements {
  using Accumulator = float;
  using Storage = std::uint8_t;
  static constexpr bool kPlain = false;
  template <class D>
  static HWY_INLINE hn::VFromD<D> widen(D d, hn::VFromD<hn::Rebind<Storage, D>> v) {
#if TUTTI_HAS_F16_INSTRUCTIONS
    return widenByF16<Format>(d, v);
#else
    return widenCodes<Format>(d, hn::PromoteTo(hn::RebindToSigned<D>(), v));
#endif
  }
  template <class D>
  static HWY_INLINE hn::VFromD<hn::Rebind<Storage, D>> narrow(D d, hn::VFromD<D> v) {
#if TUTTI_HAS_F16_INSTRUCTIONS
    return narrowByF16<Format>(d, v);
#else
    const hn::RebindToUnsigned<D> du;
    return hn::TruncateTo(hn::Rebind<Storage, D>(), hn::BitCast(du, narrowCodes<Format>(d, v)));
#endif
  }
};

ReduceCopyFunction chooseEightBitFloats(DataType type, Operation operation) {
  return type == DataType::f8e4m3
             ? chooseFloatKernel<EightBitElements<FormatF8E4M3>, FiniteProduct>(operation)
             : chooseFloatKernel<EightBitElements<FormatF8E5M2>, FiniteProduct>(operation);
}

}  // namespace HWY_NAMESPACE
}  // namespace tutti
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace tutti {
ReduceCopyFunction reduceCopyEightBitFloats(std::int64_t target, DataType type, Operation operation) {
  TUTTI_CALL_TARGET(target, chooseEightBitFloats, type, operation);
  return nullptr;
}
}  // namespace tutti
#endif
