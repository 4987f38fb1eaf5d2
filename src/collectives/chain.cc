// The chain: ranks in a row from the root on, each passing every round to the next (broadcast) or adding its
// own and passing it towards the root (reduce). Every link carries the data once, all links at the same time:
// for large data.
#include "collectives/builders.h"
#include "collectives/places.h"
#include "collectives/tree.h"

namespace tutti {

Schedule buildChain(const ScheduleRequest& request) {
  Schedule schedule =
      frameOf(request, request.channels, treeLinkBlocks(request.collective, request.nranks > 2));
  const int n = request.nranks;
  const int v = wrap(request.rank - request.root, n);
  TreeNode node;
  if (v > 0) node.parent = wrap(request.rank - 1, n);
  if (v < n - 1) node.after.push_back({wrap(request.rank + 1, n), v + 1 == n - 1});
  for (int channel = 0; channel < request.channels; ++channel) {
    addTreeLanes(schedule, request.collective, node, channel, channel);
  }
  return schedule;
}

}  // namespace tutti
