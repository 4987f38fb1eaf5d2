// Why a communicator broke: one cause, the first, with the same text for every rank. It lies in memory that the
// processes of the communicator share; all zero means that it is not broken.
//
// Whoever sets it writes the text to a place of its own, and publishes place and code by one exchange of the poison
// word. So a process that dies or is stopped in between keeps a place, and nobody else from setting the cause.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace tutti {

class FirstCause {
 public:
  static constexpr std::size_t kMostBytes = 16 * 1024 - 8;  // of the text; what is longer is cut off

  // Sets the cause, unless there is one: it is set when this returns. Allocates nothing. Any thread of any process.
  void set(const Status& cause) noexcept;

  // Not zero once it is set. Every wait polls it.
  const std::atomic<std::uint64_t>& poison() const { return poison_; }

  Code code() const { return codeOf(poison_.load(std::memory_order_acquire)); }  // ok: it is not set

  // Only once it is set.
  Status get() const;

 protected:
  static constexpr std::uint64_t kPlaces = 4;

  // A place that nobody else writes, from 0 on; kPlaces and more are none.
  std::uint64_t claim() noexcept { return claimed_.fetch_add(1, std::memory_order_relaxed); }
  // Into a place that was claimed.
  void publish(std::uint64_t place, const Status& cause) noexcept;

 private:
  struct Text {
    std::uint64_t bytes = 0;
    char text[kMostBytes] = {};
  };

  static constexpr std::uint64_t kNoPlace = 0xffff'ffff;
  static std::uint64_t wordOf(Code code, std::uint64_t place) {
    return static_cast<std::uint64_t>(code) | place << 32;
  }
  static Code codeOf(std::uint64_t word) { return static_cast<Code>(word & 0xffff'ffff); }

  void exchange(std::uint64_t word) noexcept;

  alignas(64) std::atomic<std::uint64_t> poison_{0};
  std::atomic<std::uint64_t> claimed_{0};
  alignas(64) Text texts_[kPlaces];
};

}  // namespace tutti
