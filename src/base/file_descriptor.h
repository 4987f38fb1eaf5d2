// Ownership of one file descriptor, and the knowledge of all that the library has open: a forked child has to
// close them, because a socket that the child holds does not end for its peer when the parent dies.
//
// All descriptors are opened close-on-exec. What a library beneath opens for itself (an epoll descriptor, say)
// is not known here; nor is a descriptor in the instant between the call that opens it and its owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tutti {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  // Takes over an open descriptor; a negative number is none.
  explicit FileDescriptor(int descriptor);
  FileDescriptor(FileDescriptor&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), generation_(other.generation_) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    FileDescriptor taken(std::move(other));
    std::swap(descriptor_, taken.descriptor_);
    std::swap(generation_, taken.generation_);
    return *this;
  }
  ~FileDescriptor() { close(); }

  // Negative when there is none, and in a child that has closed them all.
  int get() const { return isOfThisProcess() ? descriptor_ : -1; }
  explicit operator bool() const { return get() >= 0; }

  // Gives it away: the caller closes it, and a forked child no longer does.
  int release();
  void close() noexcept;

  // For the child's handler of pthread_atfork: closes every descriptor that an owner of the parent holds. Those
  // owners hold nothing from then on. No locks, no memory, no library calls but close.
  static void closeAllInChild() noexcept;

  // For a thread that has to open something although the process has no descriptor left: an empty table of its own,
  // until it ends. Nobody else sees what it opens, and it sees nothing that others have open. False: the kernel
  // has no such thing (Linux 5.9 has).
  static bool leaveTable() noexcept;

 private:
  bool isOfThisProcess() const { return generation_ == generationNow.load(std::memory_order_relaxed); }

  static std::atomic<std::uint32_t> generationNow;  // how often this process is a child that closed them all

  int descriptor_ = -1;
  std::uint32_t generation_ = 0;
};

}  // namespace tutti
