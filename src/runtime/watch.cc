// The slow side of waiting.
#include "runtime/watch.h"

#include <sched.h>

#include <thread>

namespace tutti {

bool outnumberCores(int nranks) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
    return nranks > static_cast<int>(std::thread::hardware_concurrency());
  return nranks > CPU_COUNT(&allowed);
}

bool Watch::pause(const CallDescriptor& call, bool suspicious) {
  using namespace std::chrono_literals;
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

  // Up to here nothing was given away. A peer that computes for long leaves the core to others.
  constexpr Clock::duration kSpinFor = 200us;
  constexpr Clock::duration kYieldFor = 5ms;
  if (stalled >= kYieldFor)
    std::this_thread::sleep_for(stalled >= 100ms ? 1ms : 50us);
  else if (!policy_.spins || stalled >= kSpinFor)
    sched_yield();
  return true;
}

}  // namespace tutti
