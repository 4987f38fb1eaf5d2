// The cores that the ranks of a communicator may run on, as far as their threads have said so. A rank that
// waits spins only if there is one for each: otherwise it may hold up the very rank that it waits for. Asked of
// the threads that make the calls, because the one that made the communicator may be bound to a core of its
// own.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace tutti {

class Cores {
 public:
  explicit Cores(int nranks) : nranks_(nranks) {}

  // Adds those that the calling thread may use. Any thread, any number of times.
  void addThisThread();
  void add(int core) {
    words_[static_cast<std::size_t>(core) / 64].fetch_or(std::uint64_t{1} << core % 64,
                                                         std::memory_order_relaxed);
  }

  bool suffice() const;

  static constexpr int kMost = 1024;

 private:
  const int nranks_;
  std::array<std::atomic<std::uint64_t>, kMost / 64> words_{};
};

}  // namespace tutti
