// In front of operator new: a test can have any one allocation of its thread fail. For the one file of a test program.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace tutti {

inline thread_local int untilOneFails = 0;  // zero: none does

// Runs `body` with its first allocation failing, then with its second, until it makes no more; after each time `after`.
template <class Body, class After>
void failEachAllocation(const Body& body, const After& after) {
  for (int nth = 1, left = 0; left == 0; ++nth) {
    untilOneFails = nth;
    try {
      body();
    } catch (const std::bad_alloc&) {
    }
    left = untilOneFails;
    untilOneFails = 0;
    after();
  }
}

}  // namespace tutti

// Not inlined: the compiler would take new and free, or malloc and delete, for a pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  const bool fails = tutti::untilOneFails != 0 && --tutti::untilOneFails == 0;
  void* const memory = fails ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
