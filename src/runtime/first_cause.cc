// See first_cause.h.
#include "runtime/first_cause.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

namespace tutti {

void FirstCause::set(const Status& cause) noexcept {
  if (poison_.load(std::memory_order_acquire) != 0) return;
  if (const std::uint64_t place = claim(); place < kPlaces) return publish(place, cause);
  // Others are copying their texts, unless all of them have died or stand still; then there are no words for it.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (poison_.load(std::memory_order_acquire) == 0) {
    if (std::chrono::steady_clock::now() >= patience) return exchange(wordOf(cause.code(), kNoPlace));
    sched_yield();
  }
}

void FirstCause::publish(std::uint64_t place, const Status& cause) noexcept {
  Text& mine = texts_[place];
  const std::string& text = cause.message();
  mine.bytes = std::min(text.size(), kMostBytes);
  std::memcpy(mine.text, text.data(), mine.bytes);
  exchange(wordOf(cause.code(), place));
}

void FirstCause::exchange(std::uint64_t word) noexcept {
  std::uint64_t none = 0;
  // Pairs with WindowGate::enter.
  poison_.compare_exchange_strong(none, word, std::memory_order_seq_cst);
}

Status FirstCause::get() const {
  const std::uint64_t word = poison_.load(std::memory_order_acquire);
  const std::uint64_t place = word >> 32;
  if (place < kPlaces) {
    const Text& first = texts_[place];
    return Status(codeOf(word), std::string(first.text, std::min<std::size_t>(first.bytes, kMostBytes)));
  }
  return Status(
      codeOf(word),
      fmt::format("{}: more is not known, because processes that were about to tell it stand still or "
                  "have died. Look for processes that are stopped, and make a new communicator",
                  nameOf(codeOf(word))));
}

}  // namespace tutti
