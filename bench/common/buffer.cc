// Allocates, touches and frees buffers, and counts damaged guard bytes. One page in front of the data keeps
// its alignment and holds the front guard.
#include "buffer.h"

#include <fmt/format.h>
#include <tutti/tutti.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tutti::bench {
namespace {

constexpr std::size_t kPage = 4096;
constexpr unsigned char kGuard = 0xe5;

std::size_t roundUp(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept {
  *this = std::move(other);
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(memoryBytes_, other.memoryBytes_);
  std::swap(fromLibrary_, other.fromLibrary_);
  return *this;
}

Buffer::~Buffer() {
  if (memory_ == nullptr) return;
  if (fromLibrary_) {
    tuttiMemFree(memory_);
  } else {
    std::free(memory_);
  }
}

std::size_t Buffer::footprint(std::size_t bytes, std::size_t offset) {
  return kPage +
         roundUp(offset + bytes + kGuardBytes);  // a page in front keeps the alignment and holds the guard
}

Buffer Buffer::make(std::size_t bytes, std::size_t offset, bool fromLibrary, std::string* error) {
  Buffer buffer;
  const std::size_t all = footprint(bytes, offset);
  void* memory = nullptr;
  if (fromLibrary) {
    const tuttiResult_t result = tuttiMemAlloc(&memory, all, TUTTI_DEVICE_HOST);
    if (result != tuttiSuccess) {
      *error = fmt::format("tuttiMemAlloc of {} bytes: {}", all, tuttiGetLastError(nullptr));
      return buffer;
    }
  } else if (posix_memalign(&memory, kPage, all) != 0) {
    *error =
        fmt::format("no memory for a buffer of {} bytes; use smaller sizes (-e) or fewer ranks (-t)", all);
    return buffer;
  }
  std::memset(memory, kGuard, all);
  buffer.memory_ = static_cast<unsigned char*>(memory);
  buffer.data_ = buffer.memory_ + kPage + offset;
  buffer.memoryBytes_ = all;
  buffer.fromLibrary_ = fromLibrary;
  return buffer;
}

void Buffer::setGuards(std::size_t bytes) {
  std::memset(data_ - kGuardBytes, kGuard, kGuardBytes);
  std::memset(data_ + bytes, kGuard, kGuardBytes);
}

std::size_t Buffer::damagedGuardBytes(std::size_t bytes) const {
  const auto damaged = [](const unsigned char* zone) {
    return static_cast<std::size_t>(
        std::count_if(zone, zone + kGuardBytes, [](unsigned char byte) { return byte != kGuard; }));
  };
  return damaged(data_ - kGuardBytes) + damaged(data_ + bytes);
}

}  // namespace tutti::bench
