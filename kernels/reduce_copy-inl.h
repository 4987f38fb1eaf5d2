// The SIMD loop of reduceCopy, for Highway to compile once per target. The accumulators of a few vectors stay
// in registers while the loop goes over the sources and then over the destinations, so the number of both is
// a run-time matter. Types and operations are the template parameters `Elements` and `Combine` (reduce_*.cc).

// One guard per target: see hwy/examples/skeleton-inl.h.
#if defined(TUTTI_REDUCE_COPY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TUTTI_REDUCE_COPY_INL_H_
#undef TUTTI_REDUCE_COPY_INL_H_
#else
#define TUTTI_REDUCE_COPY_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "kernels/copy_bits.h"
#include "kernels/reduce_copy.h"
#include "kernels/reduce_element.h"

#if !TUTTI_TARGET_IS_EMPTY

HWY_BEFORE_NAMESPACE();
namespace tutti {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
HWY_INLINE const T* at(const void* data, std::size_t index) {
  return reinterpret_cast<const T*>(static_cast<const unsigned char*>(data) + index * sizeof(T));
}
template <class T>
HWY_INLINE T* at(void* data, std::size_t index) {
  return reinterpret_cast<T*>(static_cast<unsigned char*>(data) + index * sizeof(T));
}

// The first `n` lanes from memory, the others zero; nothing after them is touched. AVX-512 masks do that by
// themselves; elsewhere Highway's masked accesses may touch the whole vector, so the lanes go by way of the
// stack.
template <class D>
HWY_INLINE hn::VFromD<D> loadFirst(D d, const hn::TFromD<D>* from, std::size_t n) {
#if HWY_TARGET == HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, n), d, from);
#else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)] = {};
  std::memcpy(lanes, from, n * sizeof(lanes[0]));
  return hn::Load(d, lanes);
#endif
}

template <class D>
HWY_INLINE void storeFirst(hn::VFromD<D> v, D d, hn::TFromD<D>* to, std::size_t n) {
#if HWY_TARGET == HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, n), d, to);
#else
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, n * sizeof(lanes[0]));
#endif
}

// Types that are added in themselves.
template <class T>
struct PlainElements {
  using Accumulator = T;
  using Storage = T;
  static constexpr bool kPlain = true;
  template <class D>
  static HWY_INLINE hn::VFromD<D> widen(D, hn::VFromD<D> v) {
    return v;
  }
  template <class D>
  static HWY_INLINE hn::VFromD<D> narrow(D, hn::VFromD<D> v) {
    return v;
  }
};

struct Sum {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Add(a, b);
  }
};

// `average` divides by nranks when a `result` is stored; only floats come here with it.
template <class Elements, class Combine, bool average>
struct Kernel {
  using Accumulator = typename Elements::Accumulator;
  using Storage = typename Elements::Storage;
  using D = hn::ScalableTag<Accumulator>;
  using DStorage = hn::Rebind<Storage, D>;
  using V = hn::VFromD<D>;
  static constexpr std::size_t kLanes = hn::MaxLanes(D());
  static constexpr std::size_t kGroup = 4;  // vectors
  static constexpr bool kHasPartial = !Elements::kPlain;
  static constexpr bool kFinishes = average || !Elements::kPlain;

  static HWY_INLINE V finish(V v, V nranks) {
    if constexpr (average) return hn::Div(v, nranks);
    return v;
  }

  // Vectors of fewer than 16 bytes cannot be streamed.
  template <class DTo>
  static HWY_INLINE bool streams(DTo, const Destination& destination, const void* to) {
    constexpr std::size_t kBytes = hn::MaxLanes(DTo()) * sizeof(hn::TFromD<DTo>);
    if constexpr (kBytes < 16) return false;
    return destination.streaming && (reinterpret_cast<std::uintptr_t>(to) & (kBytes - 1)) == 0;
  }

  template <std::size_t nvectors>
  static HWY_INLINE void load(const Source& source, std::size_t i, V (&v)[nvectors]) {
    const D d;
    const DStorage ds;
    if (kHasPartial && source.form == Form::partial) {
      const Accumulator* from = at<Accumulator>(source.data, i);
      for (std::size_t j = 0; j < nvectors; ++j) v[j] = hn::LoadU(d, from + j * kLanes);
    } else {
      const Storage* from = at<Storage>(source.data, i);
      for (std::size_t j = 0; j < nvectors; ++j) v[j] = Elements::widen(d, hn::LoadU(ds, from + j * kLanes));
    }
  }

  template <class DTo, std::size_t nvectors>
  static HWY_INLINE void store(DTo d, const hn::VFromD<DTo> (&v)[nvectors], const Destination& destination,
                               std::size_t i) {
    auto* to = at<hn::TFromD<DTo>>(destination.data, i);
    if (HWY_UNLIKELY(streams(d, destination, to))) {
      for (std::size_t j = 0; j < nvectors; ++j) hn::Stream(v[j], d, to + j * kLanes);
    } else {
      for (std::size_t j = 0; j < nvectors; ++j) hn::StoreU(v[j], d, to + j * kLanes);
    }
  }

  template <std::size_t nvectors>
  static HWY_INLINE void reduceVectors(const Source* sources, int nsources, const Destination* destinations,
                                       int ndestinations, V nranks, std::size_t i) {
    const D d;
    const DStorage ds;
    V total[nvectors];
    load(sources[0], i, total);
    for (int k = 1; k < nsources; ++k) {
      V next[nvectors];
      load(sources[k], i, next);
      for (std::size_t j = 0; j < nvectors; ++j) total[j] = Combine::combine(d, total[j], next[j]);
    }
    if constexpr (kFinishes) {
      // Rounded once for all results; the compiler drops what only partials would not use.
      hn::VFromD<DStorage> result[nvectors];
      for (std::size_t j = 0; j < nvectors; ++j) result[j] = Elements::narrow(d, finish(total[j], nranks));
      for (int k = 0; k < ndestinations; ++k) {
        if (destinations[k].form == Form::partial) {
          store(d, total, destinations[k], i);
        } else {
          store(ds, result, destinations[k], i);
        }
      }
    } else {
      for (int k = 0; k < ndestinations; ++k) store(d, total, destinations[k], i);
    }
  }

  // The last n < kLanes elements.
  static HWY_INLINE void reduceFirst(const Source* sources, int nsources, const Destination* destinations,
                                     int ndestinations, V nranks, std::size_t i, std::size_t n) {
    const D d;
    const DStorage ds;
    V total = hn::Zero(d);
    for (int k = 0; k < nsources; ++k) {
      const V next = kHasPartial && sources[k].form == Form::partial
                         ? loadFirst(d, at<Accumulator>(sources[k].data, i), n)
                         : Elements::widen(d, loadFirst(ds, at<Storage>(sources[k].data, i), n));
      total = k == 0 ? next : Combine::combine(d, total, next);
    }
    for (int k = 0; k < ndestinations; ++k) {
      if (kFinishes && destinations[k].form != Form::partial) {
        storeFirst(Elements::narrow(d, finish(total, nranks)), ds, at<Storage>(destinations[k].data, i), n);
      } else {
        storeFirst(total, d, at<Accumulator>(destinations[k].data, i), n);
      }
    }
  }

  static HWY_NOINLINE void reduceRange(const Reduction& reduction, const Source* sources, int nsources,
                                       const Destination* destinations, int ndestinations, std::size_t i,
                                       std::size_t end) {
    V nranks = hn::Zero(D());
    if constexpr (average) nranks = hn::Set(D(), static_cast<Accumulator>(reduction.nranks));
    for (; i + kGroup * kLanes <= end; i += kGroup * kLanes) {
      reduceVectors<kGroup>(sources, nsources, destinations, ndestinations, nranks, i);
    }
    for (; i + kLanes <= end; i += kLanes) {
      reduceVectors<1>(sources, nsources, destinations, ndestinations, nranks, i);
    }
    if (i < end) reduceFirst(sources, nsources, destinations, ndestinations, nranks, i, end - i);
  }

  static std::size_t sizeOf(Form form) {
    return form == Form::partial ? sizeof(Accumulator) : sizeof(Storage);
  }

  // How many elements come before the first cache line of the first streaming destination; 0 if none streams.
  static std::size_t elementsBeforeStreaming(const Destination* destinations, int ndestinations,
                                             std::size_t count) {
    for (int k = 0; k < ndestinations; ++k) {
      if (!destinations[k].streaming) continue;
      const std::size_t size = sizeOf(destinations[k].form);
      const std::size_t bytes = -reinterpret_cast<std::uintptr_t>(destinations[k].data) & 63;
      return bytes % size == 0 && bytes / size < count ? bytes / size : 0;
    }
    return 0;
  }

  // A vector as a whole. One lane is an element, which the processor's types want aligned.
  template <class DAny>
  static HWY_INLINE hn::VFromD<DAny> loadWhole(DAny d, const Accumulator* from) {
    if constexpr (hn::MaxLanes(d) > 1) return hn::LoadU(d, from);
    Accumulator element;
    std::memcpy(&element, from, sizeof(element));
    return hn::Set(d, element);
  }
  template <class DAny>
  static HWY_INLINE void storeWhole(hn::VFromD<DAny> v, DAny d, Accumulator* to) {
    if constexpr (hn::MaxLanes(d) > 1) return hn::StoreU(v, d, to);
    const Accumulator element = hn::GetLane(v);
    std::memcpy(to, &element, sizeof(element));
  }

  // `lanes` elements, and then fewer than that: halves of a vector, as large as they fit.
  template <std::size_t lanes>
  static HWY_INLINE void reduceHalves(const Source* sources, int nsources, const Destination* destinations,
                                      int ndestinations, Accumulator nranks, std::size_t i, std::size_t n) {
    const hn::CappedTag<Accumulator, lanes> d;
    if ((n & lanes) != 0) {
      auto total = loadWhole(d, at<Accumulator>(sources[0].data, i));
      for (int k = 1; k < nsources; ++k)
        total = Combine::combine(d, total, loadWhole(d, at<Accumulator>(sources[k].data, i)));
      auto result = total;
      if constexpr (average) result = hn::Div(total, hn::Set(d, nranks));
      for (int k = 0; k < ndestinations; ++k) {
        const bool isPartial = average && destinations[k].form == Form::partial;
        storeWhole(isPartial ? total : result, d, at<Accumulator>(destinations[k].data, i));
      }
      i += lanes;
    }
    if constexpr (lanes > 1)
      reduceHalves<lanes / 2>(sources, nsources, destinations, ndestinations, nranks, i, n);
  }

  static void run(const Reduction& reduction, const Source* sources, int nsources,
                  const Destination* destinations, int ndestinations, std::size_t count) {
    if (count < kLanes && nsources > 1) {  // short calls are made for their latency
      if constexpr (Elements::kPlain && sizeof(Accumulator) > 1) {
        const auto nranks = static_cast<Accumulator>(average ? reduction.nranks : 1);
        reduceHalves<kLanes / 2>(sources, nsources, destinations, ndestinations, nranks, 0, count);
      } else {
        V nranks = hn::Zero(D());
        if constexpr (average) nranks = hn::Set(D(), static_cast<Accumulator>(reduction.nranks));
        if (count != 0) reduceFirst(sources, nsources, destinations, ndestinations, nranks, 0, count);
      }
      return;
    }
    bool streaming = false;
    for (int k = 0; k < ndestinations; ++k) streaming |= destinations[k].streaming;
    if (isBitCopy(sources, nsources, destinations, ndestinations)) {
      const std::size_t bytes = count * sizeOf(sources[0].form);
      if (bytes <= kFewBytes && ndestinations == 1)
        return copyFewBits(sources[0].data, destinations[0].data, bytes);
      return copyBits(sources[0].data, destinations, ndestinations, bytes);
    }
    if (HWY_LIKELY(!streaming)) {
      return reduceRange(reduction, sources, nsources, destinations, ndestinations, 0, count);
    }
    const std::size_t head = elementsBeforeStreaming(destinations, ndestinations, count);
    if (head != 0) reduceRange(reduction, sources, nsources, destinations, ndestinations, 0, head);
    reduceRange(reduction, sources, nsources, destinations, ndestinations, head, count);
    hwy::FlushStream();
  }
};

// --- floats ------------------------------------------------------------------------------------------------

// minimum() and maximum() of reduce_element.h, lane by lane.
struct Minimum {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::IfThenElse(hn::Lt(a, b), a, hn::IfThenElse(hn::Lt(b, a), b, hn::Or(a, b)));
  }
};

struct Maximum {
  template <class D, class V>
  static HWY_INLINE V combine(D d, V a, V b) {
    const V sign = hn::SignBit(d);
    const V equal = hn::Or(hn::AndNot(sign, hn::Or(a, b)), hn::And(sign, hn::And(a, b)));
    return hn::IfThenElse(hn::Lt(b, a), a, hn::IfThenElse(hn::Lt(a, b), b, equal));
  }
};

struct Product {
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Mul(a, b);
  }
};

// The products of fp8: an infinite one becomes the largest number of its sign, which is the code before it.
struct FiniteProduct {
  template <class D, class V>
  static HWY_INLINE V combine(D d, V a, V b) {
    const hn::RebindToSigned<D> di;
    const V product = hn::Mul(a, b);
    const auto infinite = hn::RebindMask(di, hn::Eq(hn::Abs(product), hn::Inf(d)));
    const auto bits = hn::BitCast(di, product);
    return hn::BitCast(d, hn::IfThenElse(infinite, hn::Sub(bits, hn::Set(di, 1)), bits));
  }
};

template <class Elements, class Multiply = Product>
ReduceCopyFunction chooseFloatKernel(Operation operation) {
  switch (operation) {
    case Operation::sum:
      return Kernel<Elements, Sum, false>::run;
    case Operation::prod:
      return Kernel<Elements, Multiply, false>::run;
    case Operation::max:
      return Kernel<Elements, Maximum, false>::run;
    case Operation::min:
      return Kernel<Elements, Minimum, false>::run;
    case Operation::avg:
      return Kernel<Elements, Sum, true>::run;
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace tutti
HWY_AFTER_NAMESPACE();

#endif  // !TUTTI_TARGET_IS_EMPTY
#endif  // per-target guard
