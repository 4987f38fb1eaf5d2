// The CPUs that the ranks may run on: how many ranks share how many, over all processes, and the binding of each
// thread to one of its process's own (--pin). What mpirun has bound stays inside its bounds.
#pragma once

#include "ranks.h"

namespace tutti::bench {

struct CpuShare {
  int ranks;
  int cpus;
};

// Collective over the processes: the ranks that share CPUs most, all of them or those of one process.
CpuShare mostCrowded(Launch& launch, int threads);

// Collective over the processes: binds each rank's thread.
Outcome bindThreads(Ranks& ranks);

}  // namespace tutti::bench
