// The shared memory of a process: one sealed, sparse file without a name, of which mailboxes, boards and users'
// windows are cut, and which the other processes of the host map (peer_arena.h). It is gone with the last
// process that holds it, however that one ends.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "transport/shared/shared_mapping.h"

namespace tutti {

// Any thread. A forked child has the memory, shared with its parent, but nothing to say in it: allocating is
// invalidUsage there, and freeing does nothing.
class Arena {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 30;
  static constexpr std::size_t kLeastBytes = std::size_t{64} << 20;
  // How many arenas of its size an arena leaves room for, with itself, where the address space is limited.
  static constexpr std::size_t kArenas = 8;
  // The file can neither shrink nor grow, so that nobody who maps it can be hurt by who holds it.
  static const int kSeals;

  // As large as the address space allows: mostBytes or a half, a quarter, ... of it, down to kLeastBytes.
  // Nothing of it takes memory yet. `root` is where the system's files are.
  static Result<std::unique_ptr<Arena>> make(std::size_t mostBytes = kMostBytes,
                                             std::filesystem::path root = "/");
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The offset of whole zeroed pages that are the caller's until free(), with the memory for them: touching
  // them cannot fail. systemError: there is not so much memory, or the arena is full. From 2 MiB on in huge
  // pages, where the kernel has some.
  Result<std::uint64_t> allocate(std::size_t bytes);

  // What allocate() has given; the memory goes back to the system, for peers that have it mapped, too: they
  // must not touch it any more.
  void free(std::uint64_t offset);

  std::byte* base() const { return memory().data(); }
  std::size_t bytes() const { return memory().size(); }
  std::span<std::byte> memory() const { return mapping_.memory(); }
  int descriptor() const { return file_.get(); }  // the arena's; to be sent to peers
  // False once the kernel has said that it cannot give huge pages.
  bool hasHugePages() const { return hasHugePages_.load(std::memory_order_relaxed); }

  std::size_t used() const;  // bytes of all allocations

  // Where `begin` lies, if all of the range is in one allocation.
  std::optional<std::uint64_t> offsetOf(const void* begin, std::size_t bytes) const;

 private:
  Arena(FileDescriptor file, SharedMapping mapping, std::filesystem::path root);

  std::optional<std::uint64_t> take(std::size_t bytes);
  Status reserve(std::uint64_t offset, std::size_t bytes);
  bool punch(std::uint64_t offset, std::size_t bytes);

  const pid_t owner_;
  const std::filesystem::path root_;
  const FileDescriptor file_;
  const SharedMapping mapping_;
  std::atomic<bool> hasHugePages_{true};
  mutable std::mutex mutex_;                          // guards what follows
  std::map<std::uint64_t, std::size_t> allocations_;  // by offset; in bytes
  std::size_t used_ = 0;
};

// What allocate() has given, until it is told to keep it: whoever is to free it knows of it by then.
class ArenaBlock {
 public:
  ArenaBlock(Arena& arena, std::uint64_t offset) : arena_(&arena), offset_(offset) {}
  ArenaBlock(const ArenaBlock&) = delete;
  ArenaBlock& operator=(const ArenaBlock&) = delete;
  ~ArenaBlock() {
    if (arena_ != nullptr) arena_->free(offset_);
  }

  std::uint64_t keep() {
    arena_ = nullptr;
    return offset_;
  }

 private:
  Arena* arena_;
  const std::uint64_t offset_;
};

}  // namespace tutti
