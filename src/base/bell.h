// How a rank sleeps until a peer has something for it, at the price of one load for the peer as long as nobody does.
//
// Who is going to sleep arms its bell, counts itself among the sleepers, passes a barrier in the threads of all ranks
// (process_barrier.h), looks once more, and sleeps on a futex. Who has posted something looks, after its store, whether
// anybody sleeps. The barrier divides the poster's time: if its look came before, so did its store, which the sleeper's
// last look then sees; if it came after, it finds the bell armed. Hence the poster needs no fence. A process that may
// not take part in barriers counts on the counter instead: it reads it by a read-modify-write.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

#include "base/cache_lines.h"

namespace tutti {

// Of one rank, in memory that its peers see; right when it is zero.
struct alignas(64) Bell {
  std::atomic<std::uint32_t> word{0};  // odd: armed; whoever rings it makes it even
};

// Of a communicator, likewise.
struct alignas(kApart) SleeperCount {
  std::atomic<std::uint32_t> count{0};
};

// The bells of a communicator as one process uses them. What it refers to outlives it.
class Bells {
 public:
  // Nobody sleeps, ever.
  Bells() = default;

  // `barriers`: what joinProcessBarriers() has said.
  Bells(SleeperCount& sleepers, std::span<Bell> bells, bool barriers)
      : sleepers_(&sleepers.count), bells_(bells), fences_(!barriers) {}

  // Any thread, after the store that a peer may sleep for; if so, ring the bells of those peers.
  bool anybodySleeps() const noexcept {
    if (fences_) [[unlikely]]
      return sleepers_->fetch_add(0, std::memory_order_acq_rel) != 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler, too, keeps the order
    return sleepers_->load(std::memory_order_acquire) != 0;
  }
  void ring(int rank) const noexcept;

  // Whether looking costs an atomic addition, because the system refuses process barriers.
  bool costs() const { return fences_; }

  // For news that concern everybody: looks by itself.
  void ringAll() const noexcept;

 private:
  friend class Sleeper;

  static inline std::atomic<std::uint32_t> nobody{0};

  std::atomic<std::uint32_t>* sleepers_ = &nobody;
  std::span<Bell> bells_;
  bool fences_ = false;
};

// The side that sleeps: one rank's, used by the thread that makes its calls. Arm it, pass a process barrier, look once
// more, sleep.
class Sleeper {
 public:
  Sleeper(const Bells& bells, int rank) : sleepers_(*bells.sleepers_), bell_(bells.bells_[index(rank)]) {}
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() { disarm(); }

  bool isArmed() const { return armed_; }
  void arm() noexcept;
  void disarm() noexcept {
    if (armed_) [[unlikely]]
      disarmNow();
  }

  static constexpr std::size_t kMost = 128;

  // Returns when one of them was rung since it was armed, after `atMost`, on a signal, or for no reason. All have to be
  // armed, and 1 to kMost. False: this system cannot sleep on so many.
  static bool sleep(std::span<Sleeper* const> sleepers, std::chrono::nanoseconds atMost) noexcept;

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  void disarmNow() noexcept;

  std::atomic<std::uint32_t>& sleepers_;
  Bell& bell_;
  std::uint32_t armedAt_ = 0;
  bool armed_ = false;
};

}  // namespace tutti
