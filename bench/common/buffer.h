// One rank's send or receive memory with a guard zone on both sides of the elements in use. Plain or
// allocated by the library; registering it is the runner's business.
#pragma once

#include <cstddef>
#include <string>

namespace tutti::bench {

inline constexpr std::size_t kGuardBytes = 256;

class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  // Room for `bytes` bytes that begin `offset` bytes after a page boundary, touched by the calling thread.
  // fromLibrary: tuttiMemAlloc. On failure the buffer is empty and *error says why.
  static Buffer make(std::size_t bytes, std::size_t offset, bool fromLibrary, std::string* error);

  bool isEmpty() const { return memory_ == nullptr; }
  unsigned char* data() const { return data_; }
  unsigned char* memory() const { return memory_; }  // everything, guard zones included
  std::size_t memoryBytes() const { return memoryBytes_; }

  // The guard zones around the first `bytes` bytes of data.
  void setGuards(std::size_t bytes);
  std::size_t damagedGuardBytes(std::size_t bytes) const;

  // What make() takes for `bytes` bytes in all.
  static std::size_t footprint(std::size_t bytes, std::size_t offset);

 private:
  unsigned char* memory_ = nullptr;
  unsigned char* data_ = nullptr;
  std::size_t memoryBytes_ = 0;
  bool fromLibrary_ = false;
};

}  // namespace tutti::bench
