// reduceCopy as the threads of a GPU do it together: sources and destinations are lists in memory that all of
// them read, and each thread takes every ntid-th piece. What is computed is kernels/reduce_element.h, element
// by element; here is how elements reach the registers: 16 bytes at a time where all operands can, element by
// element where they lie askew, byte by byte where even elements do.
//
// No array here is indexed by what only the run knows: loops over them are unrolled, so that they are registers.
// There is nothing of CUDA in it but the 16-byte access: tests/gpu/device_reduce_copy_test.cc runs it on
// the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/host_device.h"
#include "base/number_types.h"
#include "kernels/reduce_element.h"
#include "kernels/reduction.h"

#ifdef __CUDACC__
#define TUTTI_UNROLL _Pragma("unroll")
#define TUTTI_ROLLED _Pragma("unroll 1")
#else
#define TUTTI_UNROLL
#define TUTTI_ROLLED
#endif

namespace tutti::cuda {

// Which thread of how many does the work.
struct Share {
  std::uint64_t tid;
  std::uint64_t ntid;
};

inline constexpr std::uint32_t kAccessBytes = 16;

struct Words {
  std::uint32_t word[4];
};

// `address` is a multiple of 16. Operands lie in device or mapped host memory, which both are "global": knowing
// it spares the hardware a look at every address.
TUTTI_HOST_DEVICE Words loadWords(const std::byte* address) {
#ifdef __CUDA_ARCH__
  __builtin_assume(__isGlobal(address));
  const uint4 words = *reinterpret_cast<const uint4*>(address);
  return {{words.x, words.y, words.z, words.w}};
#else
  if (reinterpret_cast<std::uintptr_t>(address) % kAccessBytes != 0) __builtin_trap();
  Words words;
  std::memcpy(&words, address, sizeof(words));
  return words;
#endif
}

TUTTI_HOST_DEVICE void storeWords(std::byte* address, const Words& words) {
#ifdef __CUDA_ARCH__
  __builtin_assume(__isGlobal(address));
  *reinterpret_cast<uint4*>(address) = make_uint4(words.word[0], words.word[1], words.word[2], words.word[3]);
#else
  if (reinterpret_cast<std::uintptr_t>(address) % kAccessBytes != 0) __builtin_trap();
  std::memcpy(address, &words, sizeof(words));
#endif
}

// One element at its own alignment, in any memory.
template <class T>
TUTTI_HOST_DEVICE T loadOne(const std::byte* address) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const T*>(address);
#else
  if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) __builtin_trap();
  return loadElement<T>(address, 0);
#endif
}

template <class T>
TUTTI_HOST_DEVICE void storeOne(std::byte* address, T value) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<T*>(address) = value;
#else
  if (reinterpret_cast<std::uintptr_t>(address) % sizeof(T) != 0) __builtin_trap();
  storeElement<T>(address, 0, value);
#endif
}

// Element `index` of those that lie in `words`, and back.
template <class T>
TUTTI_HOST_DEVICE T elementOf(const Words* words, int index) {
  constexpr int kPerWord = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
  constexpr int kPerElement = sizeof(T) < 4 ? 1 : static_cast<int>(sizeof(T)) / 4;
  const int first = index / kPerWord * kPerElement;
  const auto word = [words](int i) { return words[i / 4].word[i % 4]; };
  if constexpr (sizeof(T) < 4) {
    return static_cast<T>(word(first) >> (index % kPerWord * 8 * static_cast<int>(sizeof(T))));
  } else if constexpr (sizeof(T) == 4) {
    return bitCast<T>(word(first));
  } else if constexpr (sizeof(T) == 8) {
    return bitCast<T>(word(first) | static_cast<std::uint64_t>(word(first + 1)) << 32);
  } else {
    const std::uint64_t low = word(first) | static_cast<std::uint64_t>(word(first + 1)) << 32;
    const std::uint64_t high = word(first + 2) | static_cast<std::uint64_t>(word(first + 3)) << 32;
    return static_cast<T>(static_cast<Uint128>(high) << 64 | low);
  }
}

// The words are zero before.
template <class T>
TUTTI_HOST_DEVICE void putElement(Words* words, int index, T value) {
  constexpr int kPerWord = sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1;
  constexpr int kPerElement = sizeof(T) < 4 ? 1 : static_cast<int>(sizeof(T)) / 4;
  const int first = index / kPerWord * kPerElement;
  if constexpr (sizeof(T) < 4) {
    using Unsigned = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    words[first / 4].word[first % 4] |= std::uint32_t{static_cast<Unsigned>(value)}
                                        << (index % kPerWord * 8 * static_cast<int>(sizeof(T)));
  } else if constexpr (sizeof(T) == 4) {
    words[first / 4].word[first % 4] = bitCast<std::uint32_t>(value);
  } else {
    using Unsigned = std::conditional_t<sizeof(T) == 8, std::uint64_t, Uint128>;
    const auto bits = bitCast<Unsigned>(value);
    TUTTI_UNROLL
    for (int i = 0; i < kPerElement; ++i)
      words[(first + i) / 4].word[(first + i) % 4] = static_cast<std::uint32_t>(bits >> (32 * i));
  }
}

// kElements neighbours in memory, as they are loaded: words of 16 bytes, or one element.
template <class T, int kElements>
struct Pack {
  static constexpr int kWords = kElements * static_cast<int>(sizeof(T)) / static_cast<int>(kAccessBytes);
  static_assert(kWords * kAccessBytes == kElements * sizeof(T));
  Words words[kWords];

  TUTTI_HOST_DEVICE void load(const std::byte* address) {
    TUTTI_UNROLL
    for (int i = 0; i < kWords; ++i) words[i] = loadWords(address + i * kAccessBytes);
  }
  TUTTI_HOST_DEVICE void store(std::byte* address) const {
    TUTTI_UNROLL
    for (int i = 0; i < kWords; ++i) storeWords(address + i * kAccessBytes, words[i]);
  }
  TUTTI_HOST_DEVICE void clear() {
    TUTTI_UNROLL
    for (int i = 0; i < 4 * kWords; ++i) words[i / 4].word[i % 4] = 0;
  }
  TUTTI_HOST_DEVICE T get(int index) const { return elementOf<T>(words, index); }
  TUTTI_HOST_DEVICE void put(int index, T value) { putElement<T>(words, index, value); }
};

template <class T>
struct Pack<T, 1> {
  T element;

  TUTTI_HOST_DEVICE void load(const std::byte* address) { element = loadOne<T>(address); }
  TUTTI_HOST_DEVICE void store(std::byte* address) const { storeOne<T>(address, element); }
  TUTTI_HOST_DEVICE void clear() {}
  TUTTI_HOST_DEVICE T get(int) const { return element; }
  TUTTI_HOST_DEVICE void put(int, T value) { element = value; }
};

// Where an operand lies in memory once the first `skipped` elements are done elsewhere, and how it is read.
struct Operand {
  std::byte* data;
  bool partial;
};

template <class Storage, class Accumulator>
TUTTI_HOST_DEVICE Operand operandOf(const void* data, Form form, std::uint64_t skipped) {
  const bool partial = form == Form::partial;
  return {const_cast<std::byte*>(static_cast<const std::byte*>(data)) +
              skipped * (partial ? sizeof(Accumulator) : sizeof(Storage)),
          partial};
}

// The packs first, first + stride, ... of one round of the loop below; `kPacks` of them, as far as there are.
struct Tile {
  std::uint64_t first;
  std::uint64_t stride;
  std::uint64_t npacks;
};

template <DataType type, Operation operation, int kElements, int kPacks>
struct PackLoop {
  using Storage = typename StorageOf<type>::Type;
  using Accumulator = typename AccumulatorOf<type, operation>::Type;
  using Raw = Pack<Storage, kElements>;
  using Wide = Pack<Accumulator, kElements>;

  TUTTI_HOST_DEVICE static void loadRaw(Raw (&packs)[kPacks], const Operand& from, const Tile& tile) {
    TUTTI_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      const std::uint64_t pack = tile.first + p * tile.stride;
      if (pack < tile.npacks) packs[p].load(from.data + pack * (kElements * sizeof(Storage)));
    }
  }

  template <bool kFirst>
  TUTTI_HOST_DEVICE static void take(Accumulator& total, Accumulator next) {
    if constexpr (kFirst)
      total = next;
    else
      total = combineElements<type, operation>(total, next);
  }

  template <bool kFirst>
  TUTTI_HOST_DEVICE static void combineRaw(Accumulator (&totals)[kPacks][kElements],
                                           const Raw (&packs)[kPacks]) {
    TUTTI_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      TUTTI_UNROLL
      for (int e = 0; e < kElements; ++e)
        take<kFirst>(totals[p][e], widenElement<type, operation>(packs[p].get(e)));
    }
  }

  // Of either form.
  template <bool kFirst>
  TUTTI_HOST_DEVICE static void combine(Accumulator (&totals)[kPacks][kElements], const Operand& from,
                                        const Tile& tile) {
    if (!from.partial) {
      Raw packs[kPacks] = {};
      loadRaw(packs, from, tile);
      combineRaw<kFirst>(totals, packs);
      return;
    }
    Wide packs[kPacks] = {};
    TUTTI_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      const std::uint64_t pack = tile.first + p * tile.stride;
      if (pack < tile.npacks) packs[p].load(from.data + pack * (kElements * sizeof(Accumulator)));
    }
    TUTTI_UNROLL
    for (int p = 0; p < kPacks; ++p) {
      TUTTI_UNROLL
      for (int e = 0; e < kElements; ++e) take<kFirst>(totals[p][e], packs[p].get(e));
    }
  }

  TUTTI_HOST_DEVICE static void store(const Accumulator (&totals)[kPacks][kElements],
                                      const Reduction& reduction, const Destination* destinations,
                                      int ndestinations, std::uint64_t skipped, const Tile& tile) {
    TUTTI_ROLLED
    for (int k = 0; k < ndestinations; ++k) {
      const Operand to = operandOf<Storage, Accumulator>(destinations[k].data, destinations[k].form, skipped);
      TUTTI_UNROLL
      for (int p = 0; p < kPacks; ++p) {
        const std::uint64_t pack = tile.first + p * tile.stride;
        if (pack >= tile.npacks) continue;
        if (to.partial) {
          Wide wide;
          wide.clear();
          TUTTI_UNROLL
          for (int e = 0; e < kElements; ++e) wide.put(e, totals[p][e]);
          wide.store(to.data + pack * (kElements * sizeof(Accumulator)));
        } else {
          Raw raw;
          raw.clear();
          TUTTI_UNROLL
          for (int e = 0; e < kElements; ++e)
            raw.put(e, finishElement<type, operation>(totals[p][e], reduction.nranks));
          raw.store(to.data + pack * (kElements * sizeof(Storage)));
        }
      }
    }
  }

  // `npacks` packs from element `skipped` on. kPlain: no source is wider than the user's type, so each can be
  // on its way while the one before it is added.
  template <bool kPlain>
  TUTTI_HOST_DEVICE static void run(const Reduction& reduction, const Source* sources, int nsources,
                                    const Destination* destinations, int ndestinations, std::uint64_t skipped,
                                    std::uint64_t npacks, Share share) {
    TUTTI_ROLLED
    for (std::uint64_t first = share.tid; first < npacks; first += share.ntid * kPacks) {
      const Tile tile = {first, share.ntid, npacks};
      const auto source = [&](int k) {
        return operandOf<Storage, Accumulator>(sources[k].data, sources[k].form, skipped);
      };
      Accumulator totals[kPacks][kElements];
      if constexpr (kPlain) {
        Raw packs[kPacks] = {};
        loadRaw(packs, source(0), tile);
        if (nsources > 1) {
          Raw next[kPacks] = {};
          loadRaw(next, source(1), tile);
          combineRaw<true>(totals, packs);
          TUTTI_ROLLED
          for (int k = 2; k < nsources; ++k) {
            TUTTI_UNROLL
            for (int p = 0; p < kPacks; ++p) packs[p] = next[p];
            loadRaw(next, source(k), tile);
            combineRaw<false>(totals, packs);
          }
          combineRaw<false>(totals, next);
        } else {
          combineRaw<true>(totals, packs);
        }
      } else {
        combine<true>(totals, source(0), tile);
        TUTTI_ROLLED
        for (int k = 1; k < nsources; ++k) combine<false>(totals, source(k), tile);
      }
      store(totals, reduction, destinations, ndestinations, skipped, tile);
    }
  }
};

// --- which accesses all operands allow ---------------------------------------------------------------------

TUTTI_HOST_DEVICE std::uint32_t misalignmentOf(const void* data, std::uint32_t bytes) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(data)) & (bytes - 1);
}

enum class Access { words, elements, bytes };

struct Layout {
  Access access;
  std::uint32_t head;  // words: elements before the first whose place in every operand is a multiple of 16
};

// Of operands whose elements have `size` bytes, or `wideSize` if partial.
TUTTI_HOST_DEVICE Layout layoutOf(const Source* sources, int nsources, const Destination* destinations,
                                  int ndestinations, std::uint32_t size, std::uint32_t wideSize) {
  const auto data = [=](int k) { return k < nsources ? sources[k].data : destinations[k - nsources].data; };
  const auto sizeAt = [=](int k) {
    const Form form = k < nsources ? sources[k].form : destinations[k - nsources].form;
    return form == Form::partial ? wideSize : size;
  };
  // The operand with the smallest elements says where to begin, if any place will do.
  std::uint32_t smallest = sizeAt(0);
  std::uint32_t distance = misalignmentOf(data(0), kAccessBytes);
  bool elements = true;
  TUTTI_ROLLED
  for (int k = 0; k < nsources + ndestinations; ++k) {
    const std::uint32_t own = sizeAt(k);
    elements = elements && misalignmentOf(data(k), own) == 0;
    if (own < smallest) {
      smallest = own;
      distance = misalignmentOf(data(k), kAccessBytes);
    }
  }
  if (!elements) return {Access::bytes, 0};
  const std::uint32_t head = ((kAccessBytes - distance) & (kAccessBytes - 1)) / smallest;
  TUTTI_ROLLED
  for (int k = 0; k < nsources + ndestinations; ++k) {
    if (misalignmentOf(static_cast<const std::byte*>(data(k)) + head * sizeAt(k), kAccessBytes) != 0)
      return {Access::elements, 0};
  }
  return {Access::words, head};
}

// --- copies of bits --------------------------------------------------------------------------------------

// `npieces` pieces of sizeof(Piece) bytes from byte `skipped` on.
template <class Piece, int kPieces>
TUTTI_HOST_DEVICE void copyPieces(const std::byte* source, const Destination* destinations, int ndestinations,
                                  std::uint64_t skipped, std::uint64_t npieces, Share share) {
  TUTTI_ROLLED
  for (std::uint64_t first = share.tid; first < npieces; first += share.ntid * kPieces) {
    Piece pieces[kPieces] = {};
    TUTTI_UNROLL
    for (int p = 0; p < kPieces; ++p) {
      const std::uint64_t piece = first + p * share.ntid;
      if (piece >= npieces) continue;
      if constexpr (sizeof(Piece) == kAccessBytes)
        pieces[p] = loadWords(source + skipped + piece * sizeof(Piece));
      else
        pieces[p] = loadOne<Piece>(source + skipped + piece * sizeof(Piece));
    }
    TUTTI_ROLLED
    for (int k = 0; k < ndestinations; ++k) {
      auto* to = static_cast<std::byte*>(destinations[k].data);
      if (to == source) continue;
      TUTTI_UNROLL
      for (int p = 0; p < kPieces; ++p) {
        const std::uint64_t piece = first + p * share.ntid;
        if (piece >= npieces) continue;
        if constexpr (sizeof(Piece) == kAccessBytes)
          storeWords(to + skipped + piece * sizeof(Piece), pieces[p]);
        else
          storeOne<Piece>(to + skipped + piece * sizeof(Piece), pieces[p]);
      }
    }
  }
}

TUTTI_HOST_DEVICE void copyBytes(const Source& from, const Destination* destinations, int ndestinations,
                                 std::uint64_t bytes, Share share) {
  const auto* source = static_cast<const std::byte*>(from.data);
  std::uint32_t askew = 0;  // bits in which operands differ from the source's place
  TUTTI_ROLLED
  for (int k = 0; k < ndestinations; ++k)
    askew |= misalignmentOf(source, kAccessBytes) ^ misalignmentOf(destinations[k].data, kAccessBytes);
  const std::uint32_t unit = askew == 0 ? kAccessBytes : (askew & 3) == 0 ? 4 : 1;
  std::uint64_t head = (unit - misalignmentOf(source, unit)) & (unit - 1);
  if (head > bytes) head = bytes;
  std::uint64_t npieces = 0;
  if (unit == kAccessBytes) {
    npieces = (bytes - head) / unit;
    copyPieces<Words, 4>(source, destinations, ndestinations, head, npieces, share);
  } else if (unit == 4) {
    npieces = (bytes - head) / unit;
    copyPieces<std::uint32_t, 4>(source, destinations, ndestinations, head, npieces, share);
  }
  const std::uint64_t tail = head + npieces * unit;
  if (head != 0) copyPieces<std::uint8_t, 1>(source, destinations, ndestinations, 0, head, share);
  if (tail != bytes)
    copyPieces<std::uint8_t, 4>(source, destinations, ndestinations, tail, bytes - tail, share);
}

// --- a whole call ----------------------------------------------------------------------------------------

// What reduceCopy of kernels/reduce_copy.h does, by all threads of `share` together, each with the same
// arguments. The lists may lie in shared memory; nothing is changed in them. No barrier is inside or at the end.
template <DataType type, Operation operation>
TUTTI_HOST_DEVICE void reduceCopy(const Reduction& reduction, const Source* sources, int nsources,
                                  const Destination* destinations, int ndestinations, std::uint64_t count,
                                  Share share) {
  using Storage = typename StorageOf<type>::Type;
  using Accumulator = typename AccumulatorOf<type, operation>::Type;
  static_assert(kSizesAgree<type, operation>);
  if (isBitCopy(sources, nsources, destinations, ndestinations)) {
    const bool partial = sources[0].form == Form::partial;
    copyBytes(sources[0], destinations, ndestinations,
              count * (partial ? sizeof(Accumulator) : sizeof(Storage)), share);
    return;
  }
  constexpr int kElements = kAccessBytes / sizeof(Storage);
  // 16 registers of accumulators: with them two sources are on their way and nothing spills.
  constexpr int kWordsOfPack =
      kElements * static_cast<int>(sizeof(Accumulator) < 4 ? 4 : sizeof(Accumulator)) / 4;
  constexpr int kPacks = kWordsOfPack >= 16 ? 1 : 16 / kWordsOfPack;

  const Layout layout =
      layoutOf(sources, nsources, destinations, ndestinations, sizeof(Storage), sizeof(Accumulator));
  std::uint64_t head = 0;  // elements that are done one by one: these, and those behind the packs
  std::uint64_t done = 0;
  if (layout.access == Access::words) {
    head = layout.head < count ? layout.head : count;
    const std::uint64_t npacks = (count - head) / kElements;
    using Loop = PackLoop<type, operation, kElements, kPacks>;
    if constexpr (sizeof(Storage) == sizeof(Accumulator)) {
      Loop::template run<true>(reduction, sources, nsources, destinations, ndestinations, head, npacks,
                               share);
    } else {
      bool plain = true;
      TUTTI_ROLLED
      for (int k = 0; k < nsources; ++k) plain = plain && sources[k].form != Form::partial;
      if (plain)
        Loop::template run<true>(reduction, sources, nsources, destinations, ndestinations, head, npacks,
                                 share);
      else
        Loop::template run<false>(reduction, sources, nsources, destinations, ndestinations, head, npacks,
                                  share);
    }
    done = npacks * kElements;
  } else if (layout.access == Access::elements) {
    using Loop = PackLoop<type, operation, 1, 4>;
    Loop::template run<sizeof(Storage) == sizeof(Accumulator)>(reduction, sources, nsources, destinations,
                                                               ndestinations, 0, count, share);
    done = count;
  }
  TUTTI_ROLLED
  for (std::uint64_t i = share.tid; i < count - done; i += share.ntid) {
    const std::uint64_t index = i < head ? i : i + done;
    reduceCopyElements<type, operation>(reduction, sources, nsources, destinations, ndestinations, index,
                                        index + 1, 1);
  }
}

// The same for few elements, where operands may lie in the block's own memory: element by element.
template <DataType type, Operation operation>
TUTTI_HOST_DEVICE void reduceCopyStaged(const Reduction& reduction, const Source* sources, int nsources,
                                        const Destination* destinations, int ndestinations,
                                        std::uint64_t count, Share share) {
  using Storage = typename StorageOf<type>::Type;
  using Accumulator = typename AccumulatorOf<type, operation>::Type;
  static_assert(kSizesAgree<type, operation>);
  if (isBitCopy(sources, nsources, destinations, ndestinations) ||
      layoutOf(sources, nsources, destinations, ndestinations, sizeof(Storage), sizeof(Accumulator)).access ==
          Access::bytes) {
    reduceCopyElements<type, operation>(reduction, sources, nsources, destinations, ndestinations, share.tid,
                                        count, share.ntid);
    return;
  }
  // Registers are scarce where the whole step body is: not two of 16 bytes.
  using Loop = PackLoop<type, operation, 1, sizeof(Accumulator) <= 8 ? 2 : 1>;
  Loop::template run<sizeof(Storage) == sizeof(Accumulator)>(reduction, sources, nsources, destinations,
                                                             ndestinations, 0, count, share);
}

}  // namespace tutti::cuda
