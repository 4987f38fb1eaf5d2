// See shared_mapping.h.
#include "transport/shared/shared_mapping.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

namespace tutti {
namespace {

// Address space without memory. Asked of the kernel itself: thread sanitizer would clear its shadow of all of
// it first, which takes seconds.
std::byte* reserve(std::size_t bytes) {
  const long address =
      syscall(SYS_mmap, nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return address == -1 ? nullptr : reinterpret_cast<std::byte*>(address);
}

void giveBack(std::byte* begin, std::byte* end) {
  if (begin != end) syscall(SYS_munmap, begin, end - begin);
}

}  // namespace

bool SharedMapping::isRoomFor(std::size_t bytes) {
  std::byte* const begin = reserve(bytes);
  if (begin == nullptr) return false;
  giveBack(begin, begin + bytes);
  return true;
}

Result<SharedMapping> SharedMapping::map(int descriptor, std::size_t bytes) {
  const auto refuse = [bytes] {
    return Status(
        Code::systemError,
        fmt::format("no address space: mapping {} bytes of shared memory failed: {}. Raise the limit "
                    "on address space (ulimit -v), to the same value for all ranks",
                    bytes, std::strerror(errno)));
  };
  std::byte* const space = reserve(bytes + kHugePage);
  if (space == nullptr) return refuse();
  std::byte* const end = space + bytes + kHugePage;
  std::byte* const begin =
      space + (kHugePage - reinterpret_cast<std::uintptr_t>(space) % kHugePage) % kHugePage;
  if (mmap(begin, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, descriptor, 0) ==
      MAP_FAILED) {
    const int error = errno;
    giveBack(space, end);
    errno = error;
    return refuse();
  }
  giveBack(space, begin);
  giveBack(begin + bytes, end);
  // Or the core of a process that crashes would be as large as all arenas, holes and all, and take as long.
  madvise(begin, bytes, MADV_DONTDUMP);
  SharedMapping mapping;
  mapping.memory_ = {begin, bytes};
  return mapping;
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

}  // namespace tutti
