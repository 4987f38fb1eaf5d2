// Keeps a rank from touching its peers' memory once the communicator is broken: a peer that leaves a broken
// call may free its buffers at once. Whoever works on windows says so before it looks at the poison word;
// whoever leaves a broken call waits until nobody says so. Both sides store, then load, in one total order.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/cache_lines.h"

namespace tutti {

struct alignas(kApart) WindowUse {
  std::atomic<std::uint32_t> active{0};
};

class WindowGate {
 public:
  WindowGate(WindowUse& mine, const std::atomic<std::uint64_t>& poison) : mine_(mine), poison_(poison) {}

  // False: broken, keep out.
  bool enter() {
    mine_.active.store(1, std::memory_order_seq_cst);
    if (poison_.load(std::memory_order_seq_cst) == 0) return true;
    leave();
    return false;
  }
  void leave() { mine_.active.store(0, std::memory_order_release); }

 private:
  WindowUse& mine_;
  const std::atomic<std::uint64_t>& poison_;
};

}  // namespace tutti
