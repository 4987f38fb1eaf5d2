// A shared file in memory, mapped whole to read and write, owned: unmapped with its owner. It begins on a huge
// page, so that a huge page of the file can be one of the mapping.
//
// After fork() the child has the mapping too, and it is the same memory: what either of them writes, both see.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"

namespace tutti {

inline constexpr std::size_t kHugePage = 2u << 20;

class SharedMapping {
 public:
  SharedMapping() = default;

  // systemError: no room in the address space. The descriptor may be closed afterwards.
  static Result<SharedMapping> map(int descriptor, std::size_t bytes);

  // Whether the address space has room for that many bytes.
  static bool isRoomFor(std::size_t bytes);

  SharedMapping(SharedMapping&& other) noexcept;
  SharedMapping& operator=(SharedMapping&& other) noexcept;
  ~SharedMapping();

  std::span<std::byte> memory() const { return memory_; }

 private:
  std::span<std::byte> memory_;
};

}  // namespace tutti
