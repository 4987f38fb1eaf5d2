// The running of a group: its calls, begun together and polled in turn by one thread. Each communicator works
// through its own calls in order; none waits for another's.
#pragma once

#include <vector>

#include "api/boundary.h"
#include "api/communicator.h"

namespace tutti {

struct NotedCall {
  PinnedCommunicator communicator;
  CallRequest request;
  int forks;  // of this process when the call was noted: a child has no part in its parent's groups
};

// Runs the calls to their end and answers the first failure.
tuttiResult_t runGroup(const char* function, const std::vector<NotedCall>& calls);

}  // namespace tutti
