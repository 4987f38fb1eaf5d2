// Zeroed pages from the operating system, owned. Nothing is resident until it is touched; large ones ask for
// huge pages, which is what lets a copy run at the memory's speed.
#pragma once

#include <cstddef>

#include "base/status.h"

namespace tutti {

class PageMemory {
 public:
  PageMemory() = default;
  static Result<PageMemory> allocate(std::size_t bytes);

  PageMemory(PageMemory&& other) noexcept;
  PageMemory& operator=(PageMemory&& other) noexcept;
  ~PageMemory();

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace tutti
