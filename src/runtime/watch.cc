// The slow side of waiting.
#include "runtime/watch.h"

#include <pthread.h>
#include <sched.h>

#include <thread>

namespace tutti {

// A nap is the one place where a thread that is being cancelled would end, in the middle of a call.
void nap(std::chrono::microseconds time) {
  int state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
  std::this_thread::sleep_for(time);
  pthread_setcancelstate(state, nullptr);
}

bool Watch::pause(const CallDescriptor& call, bool suspicious, bool rests) {
  using namespace std::chrono_literals;
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
  if (rollCall_.poison() != 0) return false;
  if (!rests) return true;

  // Up to here nothing was given away. A peer that computes for long leaves the core to others.
  constexpr Clock::duration kSpinFor = 200us;
  constexpr Clock::duration kYieldFor = 5ms;
  if (stalled >= kYieldFor)
    nap(stalled >= 100ms ? 1ms : 50us);
  else if (!spins_ || stalled >= kSpinFor)
    sched_yield();
  return true;
}

}  // namespace tutti
