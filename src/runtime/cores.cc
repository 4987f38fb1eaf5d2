#include "runtime/cores.h"

#include <sched.h>

#include <bit>
#include <thread>

namespace tutti {

void Cores::addThisThread() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  static_assert(CPU_SETSIZE <= kMost);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
    // More cores than the set has room for, or no right to ask: all of them.
    const int all = static_cast<int>(std::thread::hardware_concurrency());
    for (int core = 0; core < all && core < kMost; ++core) add(core);
    return;
  }
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &allowed)) add(core);
  }
}

bool Cores::suffice() const {
  int cores = 0;
  for (const auto& word : set_.words) cores += std::popcount(word.load(std::memory_order_relaxed));
  return cores >= nranks_;
}

}  // namespace tutti
