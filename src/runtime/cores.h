// The cores that the ranks of a communicator may run on, as far as their threads have said so. A rank that
// waits spins only if there is one for each: otherwise it may hold up the very rank that it waits for. Asked of
// the threads that make the calls, because the one that made the communicator may be bound to a core of its
// own.
//
// The two hyperthreads of a core count as two. Ranks that spin on both slow each other down, but neither keeps the
// other from running, and to yield would change nothing: the kernel has nobody else to run there.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace tutti {

// The cores, as the ranks share them.
struct CoreSet {
  static constexpr int kMost = 1024;
  std::array<std::atomic<std::uint64_t>, kMost / 64> words{};
};

class Cores {
 public:
  static constexpr int kMost = CoreSet::kMost;

  // The set stays the caller's.
  Cores(CoreSet& set, int nranks) : set_(set), nranks_(nranks) {}

  // Adds those that the calling thread may use. Any thread, any number of times.
  void addThisThread();
  void add(int core) {
    set_.words[static_cast<std::size_t>(core) / 64].fetch_or(std::uint64_t{1} << core % 64,
                                                             std::memory_order_relaxed);
  }

  bool suffice() const;

 private:
  CoreSet& set_;
  const int nranks_;
};

}  // namespace tutti
