// How the ranks get their communicator: in one process all at once, in several by a unique id of process 0.
#pragma once

#include "options.h"
#include "ranks.h"

namespace tutti::bench {

// Collective over the processes.
Outcome makeCommunicators(Ranks& ranks, const Options& options);

}  // namespace tutti::bench
