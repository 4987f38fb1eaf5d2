// See file_descriptor.h. The open ones are bits of a table, so that a forked child needs no lock to read it.
#include "base/file_descriptor.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cstddef>

namespace tutti {
namespace {

// Linux allows no process more than 2^20 unless its administrator raises fs.nr_open; those above are owned, but
// unknown to a child. 128 KiB of zero pages.
constexpr std::size_t kWords = (std::size_t{1} << 20) / 64;
std::atomic<std::uint64_t> openBits[kWords];
std::atomic<std::size_t> wordsInUse{0};  // none is open above
thread_local bool hasOwnTable = false;   // whose numbers mean nothing to the process

void note(int descriptor, bool open) {
  if (hasOwnTable) return;
  const std::size_t word = static_cast<std::size_t>(descriptor) / 64;
  const std::uint64_t bit = std::uint64_t{1} << (descriptor % 64);
  if (word >= kWords) return;
  if (!open) {
    openBits[word].fetch_and(~bit);
    return;
  }
  openBits[word].fetch_or(bit);
  std::size_t known = wordsInUse.load();
  while (known < word + 1 && !wordsInUse.compare_exchange_weak(known, word + 1)) {
  }
}

}  // namespace

std::atomic<std::uint32_t> FileDescriptor::generationNow{0};

FileDescriptor::FileDescriptor(int descriptor)
    : descriptor_(descriptor < 0 ? -1 : descriptor),
      generation_(generationNow.load(std::memory_order_relaxed)) {
  if (descriptor_ >= 0) note(descriptor_, true);
}

int FileDescriptor::release() {
  const int descriptor = get();
  if (descriptor >= 0) note(descriptor, false);
  descriptor_ = -1;
  return descriptor;
}

void FileDescriptor::close() noexcept {
  const int descriptor = release();
  if (descriptor >= 0) ::close(descriptor);  // Linux closes it even when it is interrupted
}

void FileDescriptor::closeAllInChild() noexcept {
  const std::size_t words = wordsInUse.load();
  for (std::size_t word = 0; word < words; ++word) {
    for (std::uint64_t bits = openBits[word].exchange(0); bits != 0; bits &= bits - 1)
      ::close(static_cast<int>(word * 64) + std::countr_zero(bits));
  }
  generationNow.fetch_add(1);
}

bool FileDescriptor::leaveTable() noexcept {
  constexpr unsigned kUnshare = 2;  // CLOSE_RANGE_UNSHARE
  hasOwnTable = syscall(SYS_close_range, 0u, ~0u, kUnshare) == 0;
  return hasOwnTable;
}

}  // namespace tutti
