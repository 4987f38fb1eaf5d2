// See page_memory.h.
#include "transport/page_memory.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tutti {

Result<PageMemory> PageMemory::allocate(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kHugePage = 2u << 20;
  PageMemory memory;
  if (bytes == 0) return memory;
  const auto refuse = [bytes] {
    return Status(
        Code::systemError,
        fmt::format(
            "no memory: mapping {} bytes failed: {}. Free memory, or raise the limit on address space "
            "(ulimit -v)",
            bytes, std::strerror(errno)));
  };
  if (bytes > static_cast<std::size_t>(-1) - kPage) {
    errno = ENOMEM;
    return refuse();
  }
  const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
  void* data = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return refuse();
  if (whole >= kHugePage) madvise(data, whole, MADV_HUGEPAGE);  // a hint: nothing to do if it is refused
  memory.data_ = static_cast<std::byte*>(data);
  memory.bytes_ = whole;
  return memory;
}

PageMemory::PageMemory(PageMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

PageMemory& PageMemory::operator=(PageMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PageMemory::~PageMemory() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace tutti
