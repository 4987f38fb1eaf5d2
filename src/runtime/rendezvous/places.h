// How many strangers of other users the meetings of a process have at once, all together: they may not take the
// descriptors that it needs itself.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti {

// Any thread.
class Places {
 public:
  // False: so many are taken already.
  bool take(std::size_t most) {
    std::uint64_t now = taken_.load();
    do {
      if (numberIn(now) >= most) return false;
    } while (!taken_.compare_exchange_weak(now, packed(numberIn(now) + 1)));
    return true;
  }
  void giveBack() {
    std::uint64_t now = taken_.load();
    while (!taken_.compare_exchange_weak(now, packed(numberIn(now) - 1))) continue;
  }

 private:
  static std::uint64_t process() { return static_cast<std::uint64_t>(getpid()) << 32; }
  static std::uint64_t packed(std::uint64_t number) { return process() | number; }
  // What a forked child finds was its parent's.
  static std::uint64_t numberIn(std::uint64_t word) {
    return word >> 32 << 32 == process() ? word & 0xffffffffU : 0;
  }

  std::atomic<std::uint64_t> taken_{0};  // pid and number
};

}  // namespace tutti
