// Messages over a link without a schedule: the protocol functions alone, with contents that tell each message and
// each byte apart, and a deadline in every wait.
#pragma once

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/memory_order.h"
#include "kernels/protocol-inl.h"

namespace tutti {

struct PlainContext {
  bool suspicious = false;

  static constexpr std::uint32_t tid() { return 0; }
  static constexpr std::uint32_t ntid() { return 1; }
  static std::uint64_t loadAcquire(const std::uint64_t* word) { return tutti::loadAcquire(word); }
  static void storeRelease(std::uint64_t* word, std::uint64_t value) { tutti::storeRelease(word, value); }
  void suspect(const MailboxEnd&) { suspicious = true; }
};

// False: it did not come true in time.
template <class Condition>
bool waitUntil(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (int i = 1; !condition(); ++i) {
    if (i % 64 != 0) continue;
    sched_yield();
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

inline std::vector<std::byte> contentsOf(std::uint64_t message, std::uint64_t bytes) {
  std::vector<std::byte> contents(bytes);
  for (std::uint64_t i = 0; i < bytes; ++i) contents[i] = std::byte(message * 31 + i * 7 + (i >> 8));
  return contents;
}

inline bool post(MailboxEnd& end, const std::vector<std::byte>& contents, std::uint32_t tag) {
  PlainContext context;
  const std::uint64_t bytes = contents.size();
  if (end.format == MailboxFormat::lines) {
    fillLines(context, end, contents.data(), bytes, tag);
  } else {
    if (!waitUntil([&] { return slotFree(context, end); })) return false;
    if (bytes > 0) std::memcpy(slotAt(end), contents.data(), bytes);
    postSlot(context, end, bytes, tag);
  }
  countMessage(end, bytes);
  return true;
}

// True: the next message came, and has these contents.
inline bool take(MailboxEnd& end, const std::vector<std::byte>& contents, std::uint32_t tag) {
  PlainContext context;
  const std::uint64_t bytes = contents.size();
  std::vector<std::byte> got(bytes + 1);
  if (end.format == MailboxFormat::lines) {
    if (!waitUntil([&] { return takeLines(context, end, got.data(), bytes, tag) || context.suspicious; }))
      return false;
  } else {
    if (!waitUntil([&] { return slotArrived(context, end, bytes, tag) || context.suspicious; })) return false;
    std::memcpy(got.data(), slotAt(end), bytes);
    giveSlotBack(context, end);
  }
  countMessage(end, bytes);
  got.pop_back();
  return !context.suspicious && got == contents;
}

}  // namespace tutti
