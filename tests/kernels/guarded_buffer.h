// Memory for kernel tests: an operand placed anywhere in a few pages, between two pages that nobody may
// touch, with known bytes around it, so that an access outside of it either faults or is found.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace tutti {

class GuardedBuffer {
 public:
  explicit GuardedBuffer(std::size_t capacity) {
    page_ = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    capacity_ = (capacity + page_ - 1) / page_ * page_;
    void* all = mmap(nullptr, capacity_ + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) std::abort();
    base_ = static_cast<unsigned char*>(all) + page_;
    if (mprotect(base_, capacity_, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  // Of memory that stays the caller's; then nothing forbids the pages around it.
  GuardedBuffer(void* memory, std::size_t capacity)
      : capacity_(capacity), base_(static_cast<unsigned char*>(memory)), isOwner_(false) {}
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  ~GuardedBuffer() {
    if (isOwner_) munmap(base_ - page_, capacity_ + 2 * page_);
  }

  // An operand of `bytes` bytes, `slack` bytes before the forbidden page at the end (or after the one at the
  // beginning). What is around it, up to 64 bytes, gets known values.
  unsigned char* placeAtEnd(std::size_t bytes, std::size_t slack) {
    return place(capacity_ - slack - bytes, bytes);
  }
  unsigned char* placeAtBegin(std::size_t bytes, std::size_t slack) { return place(slack, bytes); }

  bool isSurroundingUntouched() const {
    for (std::size_t i = first(); i < offset_; ++i) {
      if (base_[i] != kKnown) return false;
    }
    for (std::size_t i = offset_ + bytes_; i < last(); ++i) {
      if (base_[i] != kKnown) return false;
    }
    return true;
  }

  unsigned char* data() const { return base_ + offset_; }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr unsigned char kKnown = 0xa7;
  std::size_t first() const { return offset_ < 64 ? 0 : offset_ - 64; }
  std::size_t last() const { return offset_ + bytes_ + 64 > capacity_ ? capacity_ : offset_ + bytes_ + 64; }

  unsigned char* place(std::size_t offset, std::size_t bytes) {
    offset_ = offset;
    bytes_ = bytes;
    std::memset(base_ + first(), kKnown, last() - first());
    return base_ + offset;
  }

  std::size_t page_ = 0, capacity_, offset_ = 0, bytes_ = 0;
  unsigned char* base_;
  bool isOwner_ = true;
};

}  // namespace tutti
