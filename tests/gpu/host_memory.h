// Memory of the host for what wants its alignment: arenas, and what blocks have as shared memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "base/cache_lines.h"

namespace tutti::cuda {

class HostMemory {
 public:
  HostMemory() = default;
  // `bytes`, rounded up, on a multiple of kApart, with whatever they hold; none if there is not so much.
  explicit HostMemory(std::size_t bytes)
      : data_(static_cast<std::byte*>(std::aligned_alloc(kApart, (bytes + kApart - 1) / kApart * kApart))) {}

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

}  // namespace tutti::cuda
