// The slow side of waiting.
#include "runtime/watch.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/process_barrier.h"

namespace tutti {

// A nap is the one place where a thread that is being cancelled would end, in the middle of a call.
void nap(std::chrono::microseconds time) {
  int state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  std::this_thread::sleep_for(time);
  pthread_setcancelstate(state, nullptr);
}

Waiting Watch::idle(const CallDescriptor& call, bool suspicious) {
  using namespace std::chrono_literals;
  if (rollCall_.poison() != 0) return {.by = Waiting::By::broken};
  spins_ = policy_.cores == nullptr || policy_.cores->suffice();
  const Clock::time_point now = Clock::now();
  if (began_ == Clock::time_point()) began_ = now;
  if (stalled_ == Clock::time_point()) stalled_ = now;
  const Clock::duration stalled = now - stalled_;

  // A foreign message is looked into at once, and then as often as any other stall.
  if ((suspicious && nextLook_ == Clock::duration::zero()) ||
      stalled >= RollCall::kSuspicionAfter + nextLook_) {
    rollCall_.investigate(rank_, call, suspicious, stalled);
    nextLook_ = stalled + 1ns;
  }
  if (now - began_ >= policy_.deadline) rollCall_.giveUp(rank_, call, policy_.deadline);
  if (rollCall_.poison() != 0) return {.by = Waiting::By::broken};

  // Up to here nothing was given away. A peer that computes for long leaves the core to others.
  constexpr Clock::duration kSpinFor = 200us;
  constexpr Clock::duration kYieldFor = 5ms;
  const bool spinning = spins_ && stalled < kSpinFor;
  // From then on it is asked in every turn: of several that a thread waits for, one that spins would keep all awake.
  if (stalled >= kSpinFor) spins_ = false;
  if (stalled < kYieldFor) return {.by = spinning ? Waiting::By::spinning : Waiting::By::yielding};
  const Clock::duration untilLook = RollCall::kSuspicionAfter + nextLook_ - stalled;
  const Clock::duration untilDeadline = began_ + policy_.deadline - now;
  return {.by = Waiting::By::sleeping, .atMost = std::min(untilLook, untilDeadline)};
}

void Watch::rest(std::span<Watch* const> all, const Waiting& waiting) noexcept {
  switch (waiting.by) {
    case Waiting::By::broken:
    case Waiting::By::spinning:
      return;
    case Waiting::By::yielding:
      sched_yield();
      return;
    case Waiting::By::sleeping:
      return sleep(all, waiting.atMost);
  }
}

// In two goes, between which all are polled once more; see base/bell.h.
void Watch::sleep(std::span<Watch* const> all, std::chrono::nanoseconds atMost) noexcept {
  constexpr std::chrono::milliseconds kNap{1};  // where this system cannot do better
  if (all.size() > Sleeper::kMost) return nap(kNap);
  std::array<Sleeper*, Sleeper::kMost> sleepers;
  bool armed = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sleepers[i] = &all[i]->sleeper_;
    armed &= sleepers[i]->isArmed();
    sleepers[i]->arm();
  }
  if (!armed && passProcessBarrier()) return;
  if (!armed || !Sleeper::sleep({sleepers.data(), all.size()}, atMost)) nap(kNap);
  for (Watch* watch : all) watch->sleeper_.disarm();
}

}  // namespace tutti
