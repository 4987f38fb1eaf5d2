// The context in which one host thread runs the step body: no barriers, the SIMD kernel, and a note when a
// message of another call was met.
#pragma once

#include <cstdint>

#include "base/memory_order.h"
#include "kernels/advance-inl.h"
#include "kernels/reduce_copy.h"

namespace tutti {

struct HostContext {
  static constexpr bool kOneThread = true;
  static constexpr bool kSharedWorkspace = false;

  ReduceCopyFunction kernel = nullptr;
  bool suspicious = false;

  static constexpr std::uint32_t tid() { return 0; }
  static constexpr std::uint32_t ntid() { return 1; }
  static void sync() {}
  static bool every(bool mine) { return mine; }
  static std::uint64_t loadAcquire(const std::uint64_t* word) { return tutti::loadAcquire(word); }
  static void storeRelease(std::uint64_t* word, std::uint64_t value) { tutti::storeRelease(word, value); }
  void suspect(const MailboxEnd&) { suspicious = true; }

  void reduceCopy(const Reduction& reduction, const Source* sources, int nsources,
                  const Destination* destinations, int ndestinations, std::uint64_t count) const {
    kernel(reduction, sources, nsources, destinations, ndestinations, count);
  }
};

}  // namespace tutti
