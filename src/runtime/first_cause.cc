// See first_cause.h.
#include "runtime/first_cause.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

namespace tutti {

void FirstCause::set(std::uint32_t process, const Status& cause) noexcept {
  if (claim(process)) return write(cause);
  // Whoever was first is copying its text, unless it died.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (poison_.load() == 0 && std::chrono::steady_clock::now() < patience) sched_yield();
}

void FirstCause::setAfterDeath(std::uint32_t dead, std::uint32_t process, const Status& cause) noexcept {
  std::uint64_t writer = claimOf(dead);
  if (poison_.load() == 0 && writer_.compare_exchange_strong(writer, claimOf(process))) return write(cause);
  set(process, cause);
}

void FirstCause::write(const Status& cause) noexcept {
  const std::string& text = cause.message();
  bytes_ = std::min(text.size(), kMostBytes);
  std::memcpy(text_, text.data(), bytes_);
  // Pairs with WindowGate::enter.
  poison_.store(static_cast<std::uint64_t>(cause.code()), std::memory_order_seq_cst);
}

Status FirstCause::get() const {
  const auto code = static_cast<Code>(poison_.load(std::memory_order_acquire));
  return Status(code, std::string(text_, std::min<std::size_t>(bytes_, kMostBytes)));
}

}  // namespace tutti
