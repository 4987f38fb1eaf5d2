// The context in which one host thread runs the step body: no barriers, the SIMD kernel, and a note when a
// message of another call was met.
#pragma once

#include <cstdint>

#include "base/memory_order.h"
#include "base/window_gate.h"
#include "kernels/advance-inl.h"
#include "kernels/reduce_copy.h"

namespace tutti {

struct HostContext {
  static constexpr bool kOneThread = true;
  static constexpr bool kSharedWorkspace = false;
  static constexpr bool kTakesWords = false;

  ReduceCopyFunction kernel = nullptr;
  bool suspicious = false;
  WindowGate* gate = nullptr;                    // while a schedule on windows runs
  bool abandoned = false;                        // the gate was shut in the middle of a step
  std::uint64_t streamFrom = ~std::uint64_t{0};  // bytes of a step on windows; see streaming.h

  static constexpr std::uint32_t tid() { return 0; }
  static constexpr std::uint32_t ntid() { return 1; }
  static void sync() {}
  static bool every(bool mine) { return mine; }
  static std::uint64_t loadAcquire(const std::uint64_t* word) { return tutti::loadAcquire(word); }
  static void storeRelease(std::uint64_t* word, std::uint64_t value) { tutti::storeRelease(word, value); }
  void suspect(const MailboxEnd&) { suspicious = true; }

  // True: the step is not whole and must not be announced.
  bool isAbandoned() const { return abandoned; }

  void reduceCopy(const Reduction& reduction, Source* sources, int nsources, Destination* destinations,
                  int ndestinations, std::uint64_t count) {
    if (gate == nullptr)
      kernel(reduction, sources, nsources, destinations, ndestinations, count);
    else
      reduceCopyGated(reduction, sources, nsources, destinations, ndestinations, count);
  }
  void reduceCopyStaged(const Reduction& reduction, Source* sources, int nsources, Destination* destinations,
                        int ndestinations, std::uint64_t count) {
    reduceCopy(reduction, sources, nsources, destinations, ndestinations, count);
  }

  // In place: what is about to be written has just been read, and is in the cache.
  static bool isAmong(const void* data, const Source* sources, int nsources) {
    for (int i = 0; i < nsources; ++i) {
      if (sources[i].data == data) return true;
    }
    return false;
  }

  // Piece by piece, so that a rank that leaves a broken call waits for one piece at most.
  void reduceCopyGated(const Reduction& reduction, Source* sources, int nsources, Destination* destinations,
                       int ndestinations, std::uint64_t count) {
    constexpr std::uint64_t kPieceBytes = 1 << 20;
    const std::uint64_t piece = kPieceBytes / bytesOf(reduction.type);
    const bool streams =
        count * bytesOf(reduction.type) * static_cast<std::uint64_t>(nsources + ndestinations) >= streamFrom;
    for (int i = 0; i < ndestinations; ++i)
      destinations[i].streaming = streams && !isAmong(destinations[i].data, sources, nsources);
    for (;;) {
      if (!gate->enter()) {
        abandoned = true;
        return;
      }
      const std::uint64_t now = count < piece ? count : piece;
      kernel(reduction, sources, nsources, destinations, ndestinations, now);
      gate->leave();
      count -= now;
      if (count == 0) return;
      for (int i = 0; i < nsources; ++i)
        sources[i].data = static_cast<const std::byte*>(sources[i].data) +
                          now * bytesOf(reduction.type, reduction.operation, sources[i].form);
      for (int i = 0; i < ndestinations; ++i)
        destinations[i].data = static_cast<std::byte*>(destinations[i].data) +
                               now * bytesOf(reduction.type, reduction.operation, destinations[i].form);
    }
  }
};

}  // namespace tutti
