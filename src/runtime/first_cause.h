// Why a communicator broke: one cause, the first, with the same text for every rank. It lies in memory that the
// processes of the communicator share; all zero means that it is not broken.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace tutti {

class FirstCause {
 public:
  static constexpr std::size_t kMostBytes = 16 * 1024 - 128;  // of the text; what is longer is cut off

  // Sets the cause, unless there is one; then it is set when this returns, except that whoever began to set it may
  // have died or stand still. `process`: the index of the caller's in the communicator. Allocates
  // nothing. Any thread of any process.
  void set(std::uint32_t process, const Status& cause) noexcept;

  // For whoever knows that `dead` is dead: the same, and if it died while it was setting the cause, takes its
  // place.
  void setAfterDeath(std::uint32_t dead, std::uint32_t process, const Status& cause) noexcept;

  // For whoever knows that `dead` is dead and that nothing breaks by it: what it may have begun to set is nobody's.
  void forget(std::uint32_t dead) noexcept {
    std::uint64_t writer = claimOf(dead);
    if (poison_.load() == 0) writer_.compare_exchange_strong(writer, kNobody);
  }

  // Not zero once it is set: its code. Every wait polls it.
  const std::atomic<std::uint64_t>& poison() const { return poison_; }

  // Only once it is set.
  Status get() const;

 protected:
  // Whether the caller is to write the cause, and nobody else.
  bool claim(std::uint32_t process) noexcept {
    std::uint64_t writer = kNobody;
    return writer_.compare_exchange_strong(writer, claimOf(process));
  }

 private:
  static constexpr std::uint64_t kNobody = 0;
  static std::uint64_t claimOf(std::uint32_t process) { return std::uint64_t{process} + 1; }
  void write(const Status& cause) noexcept;

  alignas(64) std::atomic<std::uint64_t> poison_{0};
  std::atomic<std::uint64_t> writer_{kNobody};
  std::uint64_t bytes_ = 0;
  char text_[kMostBytes] = {};
};

}  // namespace tutti
