// Puts the floating-point unit of this thread into the state that tutti's numbers are defined in, for as long
// as the object lives: round to nearest, no flush to zero, no denormals-are-zero, exceptions masked. A caller
// that has changed none of it, which is nearly every caller, pays for one read and compare.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace tutti {

// Lives on the stack of the thread that it sets; neither copied nor moved. It gives back the caller's
// register as it was, exception flags included.
class FloatEnvironment {
 public:
#if defined(__SSE2__)
  FloatEnvironment() : saved_(_mm_getcsr()) {
    if (isChanged(saved_)) [[unlikely]]
      _mm_setcsr(kDefault);
  }
  ~FloatEnvironment() {
    if (isChanged(saved_)) [[unlikely]]
      _mm_setcsr(static_cast<unsigned>(saved_));
  }

 private:
  static constexpr std::uint64_t kFlags = 0x3f;  // "it happened": sticky, set by anybody's arithmetic
  static constexpr unsigned kDefault = 0x1f80;   // what a process starts with
  static bool isChanged(std::uint64_t control) {
    return (control & 0xffff & ~kFlags) != kDefault;
  }
#elif defined(__aarch64__)
  FloatEnvironment() {
    __asm__ __volatile__("mrs %0, fpcr" : "=r"(saved_));
    if (isChanged(saved_)) [[unlikely]]
      set(saved_ & ~kRelevant);
  }
  ~FloatEnvironment() {
    if (isChanged(saved_)) [[unlikely]]
      set(saved_);
  }

 private:
  // AHP, DN, FZ, RMode, FZ16, the trap enables, and FIZ, AH, NEP of newer cores.
  static constexpr std::uint64_t kRelevant = 0x7c89f07;
  static bool isChanged(std::uint64_t control) {
    return (control & kRelevant) != 0;
  }
  static void set(std::uint64_t control) {
    __asm__ __volatile__("msr fpcr, %0" : : "r"(control));
  }
#else
  FloatEnvironment() {}
  ~FloatEnvironment() {}

 private:
#endif
  FloatEnvironment(const FloatEnvironment&) = delete;
  FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  std::uint64_t saved_ = 0;
};

}  // namespace tutti
