// See arena.h.
#include "transport/shared/arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/refused.h"
#include "transport/shared/free_memory.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace tutti {
namespace {

constexpr std::size_t kPage = 4096;
constexpr const char* kNone = "no shared memory";

std::size_t roundUp(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

Result<FileDescriptor> createFile() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  FileDescriptor file(memfd_create("tutti-arena", kFlags | MFD_NOEXEC_SEAL));
  if (!file && errno == EINVAL) file = FileDescriptor(memfd_create("tutti-arena", kFlags));
  if (!file) return refused(kNone, "memfd_create", errno);
  return file;
}

// A file above the limit is answered with a signal that ends the process, so it is asked first.
std::size_t mostFileBytes() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  return limit.rlim_cur;
}

Result<SharedMapping> mapAsLargeAs(std::size_t mostBytes, int file) {
  const std::size_t most = std::max(mostBytes / kPage, std::size_t{1}) * kPage;
  const std::size_t least = std::min(most, Arena::kLeastBytes);
  const std::size_t fileLimit = mostFileBytes();
  for (std::size_t bytes = most; bytes >= least; bytes = bytes / 2 / kPage * kPage) {
    if (bytes > fileLimit || bytes > SIZE_MAX / Arena::kArenas) continue;
    if (!SharedMapping::isRoomFor(bytes * Arena::kArenas)) continue;
    if (ftruncate(file, static_cast<off_t>(bytes)) != 0) return refused(kNone, "ftruncate", errno);
    auto mapping = SharedMapping::map(file, bytes);
    if (mapping.isOk()) return mapping;
  }
  if (least > fileLimit)
    return Status(Code::systemError,
                  fmt::format("no shared memory: it needs a file of {} bytes, and the limit is {}. Raise the "
                              "limit on the size of files (ulimit -f)",
                              least, fileLimit));
  return Status(Code::systemError,
                fmt::format("no shared memory: {} bytes of address space are not free. Raise the limit on "
                            "address space (ulimit -v)",
                            least * Arena::kArenas));
}

}  // namespace

const int Arena::kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

Result<std::unique_ptr<Arena>> Arena::make(std::size_t mostBytes, std::filesystem::path root) {
  auto file = createFile();
  if (!file.isOk()) return file.status();
  auto mapping = mapAsLargeAs(mostBytes, file.value().get());
  if (!mapping.isOk()) return mapping.status();
  if (fcntl(file.value().get(), F_ADD_SEALS, kSeals) != 0) return refused(kNone, "fcntl(F_ADD_SEALS)", errno);
  return std::unique_ptr<Arena>(
      new Arena(std::move(file).value(), std::move(mapping).value(), std::move(root)));
}

Arena::Arena(FileDescriptor file, SharedMapping mapping, std::filesystem::path root)
    : owner_(getpid()), root_(std::move(root)), file_(std::move(file)), mapping_(std::move(mapping)) {}

Result<std::uint64_t> Arena::allocate(std::size_t bytes) {
  if (getpid() != owner_)
    return Status(Code::invalidUsage,
                  fmt::format("shared memory belongs to process {}, and this is its forked child {}. Start "
                              "processes that use tutti before it is used, or by exec",
                              owner_, getpid()));
  const std::size_t whole = bytes > this->bytes() ? bytes : roundUp(std::max(bytes, std::size_t{1}), kPage);
  const auto offset = take(whole);
  if (!offset)
    return Status(
        Code::systemError,
        fmt::format("no shared memory: {} bytes are not free in this process's {}, of which {} are in "
                    "use. Free some, or raise the limit on address space (ulimit -v)",
                    bytes, this->bytes(), used()));
  ArenaBlock block(*this, *offset);
  TUTTI_TRY(reserve(*offset, whole));
  return block.keep();
}

// The first gap that is large enough.
std::optional<std::uint64_t> Arena::take(std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kPage;
  const std::lock_guard lock(mutex_);
  std::uint64_t begin = 0;
  for (const auto& [offset, taken] : allocations_) {
    if (begin <= offset && bytes <= offset - begin) break;
    begin = roundUp(offset + taken, unit);
  }
  if (begin > this->bytes() || bytes > this->bytes() - begin) return {};
  allocations_.emplace(begin, bytes);
  used_ += bytes;
  return begin;
}

// Piece by piece: an interrupted fallocate begins anew, and would never end under a fast timer.
Status Arena::reserve(std::uint64_t offset, std::size_t bytes) {
  constexpr std::size_t kAsked = std::size_t{4} << 20;
  if (const auto left = bytes < kAsked ? std::nullopt : freeMemory(root_); left && left->bytes < bytes)
    return Status(
        Code::systemError,
        fmt::format("no memory: {} bytes are asked for, and {} has {} left. Free memory, or raise the "
                    "limit of the memory cgroup",
                    bytes, left->limitedBy, left->bytes));
  for (std::size_t done = 0; done < bytes; done += kHugePage) {
    const std::size_t piece = std::min(bytes - done, kHugePage);
    int failed = 0;
    do {
      failed = fallocate(file_.get(), 0, static_cast<off_t>(offset + done), static_cast<off_t>(piece));
    } while (failed != 0 && errno == EINTR);
    if (failed != 0)
      return Status(
          Code::systemError,
          fmt::format("no memory: reserving {} bytes of shared memory failed: {}. Free memory, or raise "
                      "the limit of the memory cgroup",
                      bytes, std::strerror(errno)));
    // A hint: small pages do as well, slower. Other failures than this one may pass.
    if (piece == kHugePage && madvise(base() + offset + done, piece, MADV_COLLAPSE) != 0 && errno == EINVAL)
      hasHugePages_.store(false, std::memory_order_relaxed);
  }
  return {};
}

bool Arena::punch(std::uint64_t offset, std::size_t bytes) {
  int failed = 0;
  do {
    failed = fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  return failed == 0;
}

void Arena::free(std::uint64_t offset) {
  if (getpid() != owner_) return;
  std::size_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = allocations_.find(offset);
    if (found == allocations_.end()) return;
    bytes = found->second;
  }
  // Before it can be given again. What could not be emptied is not, because it is not zero.
  if (!punch(offset, bytes)) return;
  const std::lock_guard lock(mutex_);
  allocations_.erase(offset);
  used_ -= bytes;
}

std::size_t Arena::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::optional<std::uint64_t> Arena::offsetOf(const void* begin, std::size_t bytes) const {
  const auto offset = reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(base());
  const std::lock_guard lock(mutex_);
  auto after = allocations_.upper_bound(offset);
  if (after == allocations_.begin()) return {};
  const auto& [first, whole] = *--after;
  if (offset - first >= whole || bytes > whole - (offset - first)) return {};
  return offset;
}

}  // namespace tutti
