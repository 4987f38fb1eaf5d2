// Every memory operation whose order matters, as PTX on a GPU and as __atomic on a host. A flag has one
// writer, who stores it with release; its reader loads it with acquire; fences are never used, because thread
// sanitizer does not model them and the flag is what the hardware needs the order on anyway. What is relaxed
// is one access of 8 bytes and orders nothing: enough for words that are flag and data at once.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace tutti {

TUTTI_HOST_DEVICE std::uint64_t loadAcquire(const std::uint64_t* word) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
#else
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

TUTTI_HOST_DEVICE void storeRelease(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#else
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}

TUTTI_HOST_DEVICE std::uint64_t loadRelaxed(const std::uint64_t* word) {
#if defined(__CUDA_ARCH__)
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
#else
  return __atomic_load_n(word, __ATOMIC_RELAXED);
#endif
}

TUTTI_HOST_DEVICE void storeRelaxed(std::uint64_t* word, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#else
  __atomic_store_n(word, value, __ATOMIC_RELAXED);
#endif
}

// Writes a word that is zero until its first writer comes, and answers what it holds then: `value`, or what a
// quicker writer stored, with all that was written before. Host only.
inline std::uint64_t claimOnce(std::uint64_t* word, std::uint64_t value) {
  std::uint64_t held = 0;
  if (__atomic_compare_exchange_n(word, &held, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return value;
  return held;
}

}  // namespace tutti
