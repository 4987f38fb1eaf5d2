// reduceCopy for averages of integers. The accumulator is wider than the element, up to 128 bits, and
// dividing it costs more than adding, so this is the scalar specification over a tile of accumulators that
// stays in L1; the compiler vectorises it for each of Highway's targets as far as it can.
#include "kernels/simd_targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce_integer_averages.cc"
#include "hwy/foreach_target.h"
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/copy_bits.h"
#include "kernels/reduce_copy_versions.h"
#include "kernels/reduce_element.h"

#if !TUTTI_TARGET_IS_EMPTY
HWY_BEFORE_NAMESPACE();
namespace tutti {
namespace HWY_NAMESPACE {

template <DataType type>
struct IntegerAverage {
  static constexpr Operation kAvg = Operation::avg;
  using Storage = typename StorageOf<type>::Type;
  using Accumulator = typename AccumulatorOf<type, kAvg>::Type;
  static constexpr std::size_t kTile = 4096 / sizeof(Accumulator);

  static HWY_INLINE Accumulator load(const void* data, Form form, std::size_t i) {
    if (form == Form::partial) return loadElement<Accumulator>(data, i);
    return widenElement<type, kAvg>(loadElement<Storage>(data, i));
  }

  // With `form` a constant, so that there is one plain loop for each.
  template <Form form>
  static HWY_INLINE void add(Accumulator* total, const void* data, std::size_t i, std::size_t n, bool first) {
    if (first) {
      for (std::size_t j = 0; j < n; ++j) total[j] = load(data, form, i + j);
    } else {
      for (std::size_t j = 0; j < n; ++j) {
        total[j] = combineElements<type, kAvg>(total[j], load(data, form, i + j));
      }
    }
  }

  // Whether all magnitudes are below 2^bits.
  static HWY_INLINE bool areBelow(const Accumulator* total, std::size_t n, int bits) {
    using Unsigned = std::make_unsigned_t<Accumulator>;
    Unsigned all = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const Accumulator flipped = total[j] < 0 ? ~total[j] : total[j];
      all |= static_cast<Unsigned>(flipped);
    }
    return all >> bits == 0;
  }

  // The integer quotients by way of a float of p bits, which SIMD divides. They are exact if |total| + nranks
  // < 2^p: a quotient below an integer m is at least 1 / nranks below it, and only what is within m / 2^p of
  // m rounds up to it.
  template <class Float>
  static HWY_INLINE void storeQuotients(const Accumulator* total, void* data, std::size_t i, std::size_t n,
                                        std::uint32_t nranks) {
    using Signed = std::make_signed_t<Accumulator>;
    const Float divisor = static_cast<Float>(nranks);
    for (std::size_t j = 0; j < n; ++j) {
      const Float quotient = static_cast<Float>(static_cast<Signed>(total[j])) / divisor;
      storeElement<Storage>(data, i + j, static_cast<Storage>(static_cast<Signed>(quotient)));
    }
  }

  static HWY_INLINE void storeResults(const Accumulator* total, void* data, std::size_t i, std::size_t n,
                                      std::uint32_t nranks) {
    if constexpr (sizeof(Accumulator) == 4) {
      if (nranks <= 1u << 23 && areBelow(total, n, 23))
        return storeQuotients<float>(total, data, i, n, nranks);
    }
    if constexpr (sizeof(Accumulator) == 8) {
      if (areBelow(total, n, 52)) return storeQuotients<double>(total, data, i, n, nranks);
    }
    for (std::size_t j = 0; j < n; ++j) {
      storeElement<Storage>(data, i + j, finishElement<type, kAvg>(total[j], nranks));
    }
  }

  static void run(const Reduction& reduction, const Source* sources, int nsources,
                  const Destination* destinations, int ndestinations, std::size_t count) {
    if (isBitCopy(sources, nsources, destinations, ndestinations)) {
      return copyBits(sources[0].data, destinations, ndestinations,
                      count * bytesOf(type, kAvg, sources[0].form));
    }
    alignas(64) Accumulator total[kTile];
    for (std::size_t i = 0; i < count; i += kTile) {
      const std::size_t n = count - i < kTile ? count - i : kTile;
      for (int k = 0; k < nsources; ++k) {
        if (sources[k].form == Form::partial) {
          add<Form::partial>(total, sources[k].data, i, n, k == 0);
        } else {
          add<Form::raw>(total, sources[k].data, i, n, k == 0);
        }
      }
      for (int k = 0; k < ndestinations; ++k) {
        if (destinations[k].form == Form::partial) {
          std::memcpy(static_cast<unsigned char*>(destinations[k].data) + i * sizeof(Accumulator), total,
                      n * sizeof(Accumulator));
        } else {
          storeResults(total, destinations[k].data, i, n, reduction.nranks);
        }
      }
    }
  }
};

ReduceCopyFunction chooseIntegerAverages(DataType type) {
  switch (type) {
    case DataType::i8:
      return IntegerAverage<DataType::i8>::run;
    case DataType::u8:
      return IntegerAverage<DataType::u8>::run;
    case DataType::i32:
      return IntegerAverage<DataType::i32>::run;
    case DataType::u32:
      return IntegerAverage<DataType::u32>::run;
    case DataType::i64:
      return IntegerAverage<DataType::i64>::run;
    case DataType::u64:
      return IntegerAverage<DataType::u64>::run;
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
ReduceCopyFunction reduceCopyIntegerAverages(std::int64_t target, DataType type) {
  TUTTI_CALL_TARGET(target, chooseIntegerAverages, type);
  return nullptr;
}
}  // namespace tutti
#endif
