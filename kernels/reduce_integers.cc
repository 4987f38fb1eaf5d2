// The SIMD versions of reduceCopy for integers, averages excepted. Sums and products wrap, so signed types
// share those of the unsigned ones.
#include "kernels/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_integers.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/reduce_copy-inl.h"
#include "kernels/reduce_copy_versions.h"

#if !TUTTI_TARGET_IS_EMPTY
HWY_BEFORE_NAMESPACE();
namespace tutti {
namespace HWY_NAMESPACE {

// The low bits of products; 8- and 64-bit ones are built from what all targets have.
struct WrappingProduct {
  template <class D, class V>
  static HWY_INLINE V combine(D d, V a, V b) {
    if constexpr (sizeof(hn::TFromD<D>) == 1) {
      const hn::RepartitionToWide<D> d16;
      const auto low = hn::Set(d16, 0xff);
      const auto a16 = hn::BitCast(d16, a);
      const auto b16 = hn::BitCast(d16, b);
      const auto even = hn::And(hn::Mul(a16, b16), low);
      const auto odd = hn::ShiftLeft<8>(hn::Mul(hn::ShiftRight<8>(a16), hn::ShiftRight<8>(b16)));
      return hn::BitCast(d, hn::Or(even, odd));
    } else if constexpr (sizeof(hn::TFromD<D>) == 8 && HWY_TARGET != HWY_AVX3) {
      const hn::RepartitionToNarrow<D> d32;
      const auto a32 = hn::BitCast(d32, a);
      const auto b32 = hn::BitCast(d32, b);
      const auto ahigh = hn::BitCast(d32, hn::ShiftRight<32>(a));
      const auto bhigh = hn::BitCast(d32, hn::ShiftRight<32>(b));
      const auto cross = hn::Add(hn::MulEven(ahigh, b32), hn::MulEven(a32, bhigh));
      return hn::Add(hn::MulEven(a32, b32), hn::ShiftLeft<32>(cross));
    } else {
      return hn::Mul(a, b);
    }
  }
};

struct Smaller {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Min(a, b);
  }
};

struct Larger {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Max(a, b);
  }
};

template <class T>
ReduceCopyFunction chooseIntegerKernel(Operation operation) {
  using Unsigned = hwy::MakeUnsigned<T>;
  switch (operation) {
    case Operation::sum:
      return Kernel<PlainElements<Unsigned>, Sum, false>::run;
    case Operation::prod:
      return Kernel<PlainElements<Unsigned>, WrappingProduct, false>::run;
    case Operation::max:
      return Kernel<PlainElements<T>, Larger, false>::run;
    case Operation::min:
      return Kernel<PlainElements<T>, Smaller, false>::run;
    case Operation::avg:
      break;
  }
  return nullptr;
}

ReduceCopyFunction chooseIntegers(DataType type, Operation operation) {
  switch (type) {
    case DataType::i8:
      return chooseIntegerKernel<std::int8_t>(operation);
    case DataType::u8:
      return chooseIntegerKernel<std::uint8_t>(operation);
    case DataType::i32:
      return chooseIntegerKernel<std::int32_t>(operation);
    case DataType::u32:
      return chooseIntegerKernel<std::uint32_t>(operation);
    case DataType::i64:
      return chooseIntegerKernel<std::int64_t>(operation);
    case DataType::u64:
      return chooseIntegerKernel<std::uint64_t>(operation);
    default:
      return nullptr;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tutti
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
namespace tutti {
ReduceCopyFunction reduceCopyIntegers(std::int64_t target, DataType type, Operation operation) {
  TUTTI_CALL_TARGET(target, chooseIntegers, type, operation);
  return nullptr;
}
}  // namespace tutti
#endif
