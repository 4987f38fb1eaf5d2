// The specification of tutti's arithmetic, one element at a time: widen to the accumulator, combine, finish.
// It is compiled for the host, for GPUs and for emulated GPUs as it stands, and every faster kernel gives its
// bits (of a computed NaN only that it is one). docs/numerics.md says the same in prose.
//
// Compile it with -ffp-contract=off (nvcc: --fmad=false) and run it in round-to-nearest without FTZ and DAZ
// (kernels/float_environment.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/host_device.h"
#include "base/number_types.h"
#include "kernels/floats.h"
#include "kernels/reduction.h"

namespace tutti {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;

// --- which C++ types hold an element and its accumulator --------------------------------------------------

template <DataType type>
struct StorageOf;
template <>
struct StorageOf<DataType::i8> {
  using Type = std::int8_t;
};
template <>
struct StorageOf<DataType::u8> {
  using Type = std::uint8_t;
};
template <>
struct StorageOf<DataType::i32> {
  using Type = std::int32_t;
};
template <>
struct StorageOf<DataType::u32> {
  using Type = std::uint32_t;
};
template <>
struct StorageOf<DataType::i64> {
  using Type = std::int64_t;
};
template <>
struct StorageOf<DataType::u64> {
  using Type = std::uint64_t;
};
template <>
struct StorageOf<DataType::f16> {
  using Type = std::uint16_t;
};
template <>
struct StorageOf<DataType::f32> {
  using Type = float;
};
template <>
struct StorageOf<DataType::f64> {
  using Type = double;
};
template <>
struct StorageOf<DataType::bf16> {
  using Type = std::uint16_t;
};
template <>
struct StorageOf<DataType::f8e4m3> {
  using Type = std::uint8_t;
};
template <>
struct StorageOf<DataType::f8e5m2> {
  using Type = std::uint8_t;
};

template <class Integer>
struct Wider;
template <>
struct Wider<std::int8_t> {
  using Type = std::int32_t;
};
template <>
struct Wider<std::uint8_t> {
  using Type = std::uint32_t;
};
template <>
struct Wider<std::int32_t> {
  using Type = std::int64_t;
};
template <>
struct Wider<std::uint32_t> {
  using Type = std::uint64_t;
};
template <>
struct Wider<std::int64_t> {
  using Type = Int128;
};
template <>
struct Wider<std::uint64_t> {
  using Type = Uint128;
};

// As constants, because nvcc calls no constexpr host function from device code.
template <DataType type>
inline constexpr bool kIsFloat = isFloat(type);
template <DataType type>
inline constexpr bool kIsFp8 = type == DataType::f8e4m3 || type == DataType::f8e5m2;
template <DataType type>
inline constexpr bool kIsSmallFloat = kIsFp8<type> || type == DataType::f16 || type == DataType::bf16;

template <DataType type, Operation operation>
struct AccumulatorOf {
  using Type = typename StorageOf<type>::Type;
};
template <DataType type, Operation operation>
requires(kIsSmallFloat<type>) struct AccumulatorOf<type, operation> {
  using Type = float;
};
template <DataType type>
requires(!kIsFloat<type>) struct AccumulatorOf<type, Operation::avg> {
  using Type = typename Wider<typename StorageOf<type>::Type>::Type;
};

template <DataType type, Operation operation>
inline constexpr bool kSizesAgree = sizeof(typename StorageOf<type>::Type) == bytesOf(type) &&
                                    sizeof(typename AccumulatorOf<type, operation>::Type) ==
                                        accumulationBytesOf(type, operation);

// The unsigned type in which sums and products of `Integer` wrap. 8-bit ones go through unsigned, not int.
template <class Integer>
struct WrappingOf {
  using Type = std::conditional_t<sizeof(Integer) <= 4, std::uint32_t,
                                  std::conditional_t<sizeof(Integer) == 8, std::uint64_t, Uint128>>;
};

// --- combining two accumulators ---------------------------------------------------------------------------

// IEEE 754-2019 minimum and maximum. Neither smaller nor greater means equal or a NaN. Or-ing the bits keeps
// equal numbers as they are, gives -0 for two zeros of different sign, and a NaN where there was one.
template <class Float>
TUTTI_HOST_DEVICE constexpr Float minimum(Float a, Float b) {
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  if (a < b) return a;
  if (b < a) return b;
  return bitCast<Float>(bitCast<Bits>(a) | bitCast<Bits>(b));
}

template <class Float>
TUTTI_HOST_DEVICE constexpr Float maximum(Float a, Float b) {
  using Bits = std::conditional_t<sizeof(Float) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Float) - 1);
  if (b < a) return a;
  if (a < b) return b;
  const Bits abits = bitCast<Bits>(a);
  const Bits bbits = bitCast<Bits>(b);
  return bitCast<Float>(((abits | bbits) & ~kSign) | (abits & bbits & kSign));
}

template <DataType type, Operation operation, class Accumulator>
TUTTI_HOST_DEVICE constexpr Accumulator combineElements(Accumulator a, Accumulator b) {
  if constexpr (kIsFloat<type>) {
    if constexpr (operation == Operation::sum || operation == Operation::avg) return a + b;
    if constexpr (operation == Operation::min) return minimum(a, b);
    if constexpr (operation == Operation::max) return maximum(a, b);
    if constexpr (operation == Operation::prod) {
      Accumulator product = a * b;
      if constexpr (kIsFp8<type>) {
        constexpr float kLargest = bitCast<float>(std::uint32_t{0x7f7fffff});
        if (product > kLargest) product = kLargest;
        if (product < -kLargest) product = -kLargest;
      }
      return product;
    }
  } else {
    using Wrapping = typename WrappingOf<Accumulator>::Type;
    if constexpr (operation == Operation::sum || operation == Operation::avg) {
      return static_cast<Accumulator>(static_cast<Wrapping>(a) + static_cast<Wrapping>(b));
    }
    if constexpr (operation == Operation::prod) {
      return static_cast<Accumulator>(static_cast<Wrapping>(a) * static_cast<Wrapping>(b));
    }
    if constexpr (operation == Operation::min) return b < a ? b : a;
    if constexpr (operation == Operation::max) return a < b ? b : a;
  }
}

// --- in and out of the accumulator ------------------------------------------------------------------------

// raw or result -> accumulator. The place for a premultiplier.
template <DataType type, Operation operation>
TUTTI_HOST_DEVICE constexpr typename AccumulatorOf<type, operation>::Type widenElement(
    typename StorageOf<type>::Type element) {
  if constexpr (type == DataType::f16) return f16ToF32(element);
  if constexpr (type == DataType::bf16) return bf16ToF32(element);
  if constexpr (type == DataType::f8e4m3) return f8e4m3ToF32(element);
  if constexpr (type == DataType::f8e5m2) return f8e5m2ToF32(element);
  if constexpr (!kIsSmallFloat<type>) return element;
}

// accumulator -> result: the average's division in the accumulation type, then one rounding to the user's
// type. Integers truncate toward zero.
template <DataType type, Operation operation>
TUTTI_HOST_DEVICE constexpr typename StorageOf<type>::Type finishElement(
    typename AccumulatorOf<type, operation>::Type value, std::uint32_t nranks) {
  using Accumulator = typename AccumulatorOf<type, operation>::Type;
  if constexpr (operation == Operation::avg) {
    if constexpr (std::is_same_v<Accumulator, std::int32_t>) {  // nranks may not fit
      value = static_cast<Accumulator>(std::int64_t{value} / std::int64_t{nranks});
    } else {
      value = value / static_cast<Accumulator>(nranks);
    }
  }
  if constexpr (type == DataType::f16) return f32ToF16(value);
  if constexpr (type == DataType::bf16) return f32ToBf16(value);
  if constexpr (type == DataType::f8e4m3) return f32ToF8e4m3(value);
  if constexpr (type == DataType::f8e5m2) return f32ToF8e5m2(value);
  if constexpr (!kIsSmallFloat<type>) return static_cast<typename StorageOf<type>::Type>(value);
}

// --- a whole call -----------------------------------------------------------------------------------------

// One source and one form everywhere: bits are copied, whatever they mean.
TUTTI_HOST_DEVICE constexpr bool isBitCopy(const Source* sources, int nsources,
                                           const Destination* destinations, int ndestinations) {
  if (nsources != 1) return false;
  for (int k = 0; k < ndestinations; ++k) {
    if (destinations[k].form != sources[0].form) return false;
  }
  return true;
}

template <class T>
TUTTI_HOST_DEVICE T loadElement(const void* data, std::size_t index) {
  T value;
  std::memcpy(&value, static_cast<const unsigned char*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
TUTTI_HOST_DEVICE void storeElement(void* data, std::size_t index, T value) {
  std::memcpy(static_cast<unsigned char*>(data) + index * sizeof(T), &value, sizeof(T));
}

// Elements begin, begin + stride, ... below end, as reduceCopyReference.
template <DataType type, Operation operation>
TUTTI_HOST_DEVICE void reduceCopyElements(const Reduction& reduction, const Source* sources, int nsources,
                                          const Destination* destinations, int ndestinations,
                                          std::size_t begin, std::size_t end, std::size_t stride) {
  using Storage = typename StorageOf<type>::Type;
  using Accumulator = typename AccumulatorOf<type, operation>::Type;
  static_assert(kSizesAgree<type, operation>);
  if (isBitCopy(sources, nsources, destinations, ndestinations)) {
    const std::size_t size = sources[0].form == Form::partial ? sizeof(Accumulator) : sizeof(Storage);
    const auto* from = static_cast<const unsigned char*>(sources[0].data);
    for (std::size_t i = begin; i < end; i += stride) {
      for (int k = 0; k < ndestinations; ++k) {
        auto* to = static_cast<unsigned char*>(destinations[k].data);
        for (std::size_t byte = i * size; byte < (i + 1) * size; ++byte) to[byte] = from[byte];
      }
    }
    return;
  }
  for (std::size_t i = begin; i < end; i += stride) {
    Accumulator total{};
    for (int k = 0; k < nsources; ++k) {
      const Accumulator next = sources[k].form == Form::partial
                                   ? loadElement<Accumulator>(sources[k].data, i)
                                   : widenElement<type, operation>(loadElement<Storage>(sources[k].data, i));
      total = k == 0 ? next : combineElements<type, operation>(total, next);
    }
    for (int k = 0; k < ndestinations; ++k) {
      if (destinations[k].form == Form::partial) {
        storeElement<Accumulator>(destinations[k].data, i, total);
      } else {
        storeElement<Storage>(destinations[k].data, i,
                              finishElement<type, operation>(total, reduction.nranks));
      }
    }
  }
}

template <DataType type>
TUTTI_HOST_DEVICE void reduceCopyElements(const Reduction& reduction, const Source* sources, int nsources,
                                          const Destination* destinations, int ndestinations,
                                          std::size_t begin, std::size_t end, std::size_t stride) {
  switch (reduction.operation) {
    case Operation::sum:
      return reduceCopyElements<type, Operation::sum>(reduction, sources, nsources, destinations,
                                                      ndestinations, begin, end, stride);
    case Operation::prod:
      return reduceCopyElements<type, Operation::prod>(reduction, sources, nsources, destinations,
                                                       ndestinations, begin, end, stride);
    case Operation::max:
      return reduceCopyElements<type, Operation::max>(reduction, sources, nsources, destinations,
                                                      ndestinations, begin, end, stride);
    case Operation::min:
      return reduceCopyElements<type, Operation::min>(reduction, sources, nsources, destinations,
                                                      ndestinations, begin, end, stride);
    case Operation::avg:
      return reduceCopyElements<type, Operation::avg>(reduction, sources, nsources, destinations,
                                                      ndestinations, begin, end, stride);
  }
}

// destinations[] = reduce(sources[]) for the elements begin, begin + stride, ... below end, so that a thread
// of a GPU can take its share. Sources are combined in their order, ((s0 op s1) op s2) ..., in the
// accumulation type; `partial` destinations get the accumulator, `result` ones the finished element. One
// source with every form equal is a copy of bits, and only then may a destination be `raw`. There is at least
// one source.
TUTTI_HOST_DEVICE void reduceCopyReference(const Reduction& reduction, const Source* sources, int nsources,
                                           const Destination* destinations, int ndestinations,
                                           std::size_t begin, std::size_t end, std::size_t stride) {
#define TUTTI_CASE(name)                                                                                 \
  case DataType::name:                                                                                   \
    return reduceCopyElements<DataType::name>(reduction, sources, nsources, destinations, ndestinations, \
                                              begin, end, stride)
  switch (reduction.type) {
    TUTTI_CASE(i8);
    TUTTI_CASE(u8);
    TUTTI_CASE(i32);
    TUTTI_CASE(u32);
    TUTTI_CASE(i64);
    TUTTI_CASE(u64);
    TUTTI_CASE(f16);
    TUTTI_CASE(f32);
    TUTTI_CASE(f64);
    TUTTI_CASE(bf16);
    TUTTI_CASE(f8e4m3);
    TUTTI_CASE(f8e5m2);
  }
#undef TUTTI_CASE
}

}  // namespace tutti
