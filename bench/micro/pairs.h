// Two ranks, threads or processes, that do a batch of one thing and a batch of another in turn, many times over. The
// ratio is taken within each pair of batches, because a shared machine changes its speed from minute to minute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace tutti::bench {

using Batch = std::function<void(int rank, int iterations)>;

// Both ranks store and wait for the other's: the least time in which they can hear from each other.
class FlagExchange {
 public:
  static constexpr std::size_t kBytes = 256;
  // `memory`: kBytes that both ranks see, on a multiple of 128 and zero at first; it stays the caller's.
  explicit FlagExchange(void* memory) : flags_(static_cast<Flag*>(memory)) {}

  void operator()(int rank, int iterations) const;

 private:
  struct alignas(128) Flag {
    std::uint64_t value = 0;
  };
  static_assert(2 * sizeof(Flag) == kBytes);

  Flag* flags_;
};

struct Pair {
  std::string beside;  // what it is measured against: a limit of the machine, another library
  std::string measured;
  int iterations;  // in a batch
  int pairs;
  Batch besideBatch;
  Batch measuredBatch;
};

// "all-reduce 8 B", "all-reduce 4 KiB"
std::string sized(const std::string& what, std::size_t bytes);

// Iterations that make a batch of calls of that size last about as long as others.
int iterationsFor(std::size_t bytes);

void pinTo(int cpu);

// Of the process that prints.
void printHeader(const std::string& beside);

// By both ranks at the same time; rank 0 prints a row.
void play(const Pair& pair, int rank, const FlagExchange& flags);

}  // namespace tutti::bench
