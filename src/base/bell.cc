// See bell.h. The words lie in memory that processes share, so the futexes are not private ones.
#include "base/bell.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tutti {
namespace {

constexpr long kNanosecondsPerSecond = 1'000'000'000;

timespec timespecOf(std::chrono::nanoseconds time) {
  const std::int64_t count = time.count() < 0 ? 0 : time.count();
  return {static_cast<time_t>(count / kNanosecondsPerSecond),
          static_cast<long>(count % kNanosecondsPerSecond)};
}

std::uint32_t* addressOf(std::atomic<std::uint32_t>& word) {
  static_assert(sizeof(word) == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free);
  return reinterpret_cast<std::uint32_t*>(&word);
}

void wakeOne(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, addressOf(word), FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

}  // namespace

void Bells::ring(int rank) const noexcept {
  std::atomic<std::uint32_t>& word = bells_[static_cast<std::size_t>(rank)].word;
  std::uint32_t seen = word.load(std::memory_order_acquire);
  if (seen % 2 == 1 && word.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel)) wakeOne(word);
}

void Bells::ringAll() const noexcept {
  if (!anybodySleeps()) return;
  for (std::size_t rank = 0; rank < bells_.size(); ++rank) ring(static_cast<int>(rank));
}

void Sleeper::arm() noexcept {
  if (armed_) return;
  armedAt_ = bell_.word.load(std::memory_order_relaxed) | 1;
  bell_.word.store(armedAt_, std::memory_order_relaxed);  // nobody else writes an even one
  sleepers_.fetch_add(1, std::memory_order_acq_rel);
  armed_ = true;
}

void Sleeper::disarmNow() noexcept {
  std::uint32_t armed = armedAt_;
  bell_.word.compare_exchange_strong(armed, armedAt_ + 1, std::memory_order_acq_rel);
  sleepers_.fetch_sub(1, std::memory_order_release);
  armed_ = false;
}

bool Sleeper::sleep(std::span<Sleeper* const> sleepers, std::chrono::nanoseconds atMost) noexcept {
  if (sleepers.size() == 1) {
    const timespec relative = timespecOf(atMost);
    ::syscall(SYS_futex, addressOf(sleepers[0]->bell_.word), FUTEX_WAIT, sleepers[0]->armedAt_, &relative,
              nullptr, 0);
    return true;
  }
#ifdef SYS_futex_waitv
  if (sleepers.size() <= kMost) {
    std::array<futex_waitv, kMost> words{};
    for (std::size_t i = 0; i < sleepers.size(); ++i) {
      words[i].val = sleepers[i]->armedAt_;
      words[i].uaddr = reinterpret_cast<std::uintptr_t>(addressOf(sleepers[i]->bell_.word));
      words[i].flags = FUTEX_32;
    }
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const timespec until =
        timespecOf(atMost + std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
    if (::syscall(SYS_futex_waitv, words.data(), sleepers.size(), 0, &until, CLOCK_MONOTONIC) >= 0)
      return true;
    return errno != ENOSYS && errno != EPERM && errno != EINVAL;
  }
#endif
  return false;
}

}  // namespace tutti
