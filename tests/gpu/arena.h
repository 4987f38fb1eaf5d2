// Memory that the host fills for a device in one piece: every object is placed in the host's copy and knows the
// address that it will have on the device. With both addresses equal, the host can play the device. Between
// objects lie bytes that nobody may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

namespace tutti::cuda {

template <class T>
struct Placed {
  T* host = nullptr;
  T* device = nullptr;
};

class Arena {
 public:
  // `host` has `capacity` bytes and stays the caller's, as does `device`; both lie on a multiple of 128.
  Arena(std::byte* host, std::byte* device, std::size_t capacity)
      : host_(host), device_(device), capacity_(capacity) {}

  // `count` objects, `skew` bytes behind a multiple of 128; bytes hold what guards hold. Ends the program where
  // there is no room.
  template <class T>
  Placed<T> place(std::size_t count, std::size_t skew = 0) {
    const std::size_t offset = (used_ + kGuardBytes + 127) / 128 * 128 + skew;
    const std::size_t bytes = count * sizeof(T);
    if (offset + bytes + kGuardBytes > capacity_) std::abort();
    gaps_.push_back({used_, offset});
    std::memset(host_ + used_, static_cast<int>(kGuard), offset + bytes + kGuardBytes - used_);
    used_ = offset + bytes;
    auto* host = reinterpret_cast<T*>(host_ + offset);
    if constexpr (!std::is_same_v<T, std::byte>) {
      for (std::size_t i = 0; i < count; ++i) new (host + i) T();
    }
    return {host, reinterpret_cast<T*>(device_ + offset)};
  }

  std::size_t used() const { return used_ + kGuardBytes; }

  bool areGuardsUntouched() const {
    const auto isGuard = [this](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (host_[i] != kGuard) return false;
      }
      return true;
    };
    for (const Gap& gap : gaps_) {
      if (!isGuard(gap.begin, gap.end)) return false;
    }
    return isGuard(used_, used());
  }

 private:
  static constexpr std::byte kGuard{0xa5};
  static constexpr std::size_t kGuardBytes = 64;
  struct Gap {
    std::size_t begin, end;
  };

  std::byte* host_;
  std::byte* device_;
  std::size_t capacity_;
  std::size_t used_ = 0;
  std::vector<Gap> gaps_;
};

}  // namespace tutti::cuda
