// The calls of a VirtualCommunicator run by one host thread with the host's own context and kernels: the golden
// results of a GPU, which adds the same numbers in the same order and therefore has to give the same bits.
#pragma once

#include <vector>

#include "tests/gpu/virtual_communicator.h"

namespace tutti::cuda {

// In the order in which they were placed, with messages carried as slots, in an arena whose two addresses are
// one. False: a call did not come to its end; where its lanes stand is in the outcomes.
bool runOnHost(const std::vector<PlacedCall>& calls);

}  // namespace tutti::cuda
