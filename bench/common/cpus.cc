// Masks of affinity, as the processes have them.
#include "cpus.h"

#include "machine.h"

#include <sched.h>

#include <vector>

namespace tutti::bench {

CpuShare mostCrowded(Launch& launch, int threads) {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  for (int cpu : allowedCpus()) CPU_SET(static_cast<std::size_t>(cpu), &mine);
  std::vector<cpu_set_t> all(static_cast<std::size_t>(launch.processes()));
  launch.allGather(&mine, all.data(), sizeof(mine), {});
  cpu_set_t together;
  CPU_ZERO(&together);
  for (const cpu_set_t& one : all) CPU_OR(&together, &together, &one);
  CpuShare most{threads * launch.processes(), CPU_COUNT(&together)};
  for (const cpu_set_t& one : all) {
    const CpuShare share{threads, CPU_COUNT(&one)};
    if (static_cast<long>(share.ranks) * most.cpus > static_cast<long>(most.ranks) * share.cpus) most = share;
  }
  return most;
}

// By the rank, not by the thread: processes that mpirun has not bound have the same CPUs.
Outcome bindThreads(Ranks& ranks) {
  const std::vector<int> cpus = allowedCpus();
  return ranks.run([&](int rank) -> Outcome {
    if (cpus.empty()) return std::nullopt;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpus[static_cast<std::size_t>(rank) % cpus.size()]), &set);
    sched_setaffinity(0, sizeof(set), &set);  // the cpu comes from the process's own mask
    return std::nullopt;
  });
}

}  // namespace tutti::bench
