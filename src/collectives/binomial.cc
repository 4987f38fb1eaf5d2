// The binomial tree over ranks counted from the root: v hangs under v without its lowest set bit, so its
// subtree is the consecutive ranks from v on. Fewest steps for small broadcasts and reductions; an all-reduce
// climbs to rank 0 and comes back.
#include "collectives/builders.h"
#include "collectives/places.h"
#include "collectives/tree.h"

namespace tutti {
namespace {

TreeNode nodeOf(const ScheduleRequest& request, int root) {
  const int n = request.nranks;
  const int v = wrap(request.rank - root, n);
  const auto rankOf = [&](int relative) { return wrap(relative + root, n); };
  TreeNode node;
  if (v != 0) node.parent = rankOf(v & (v - 1));
  for (int bit = 1; v + bit < n && (v & bit) == 0; bit *= 2) {
    node.after.push_back({rankOf(v + bit), bit == 1 || v + bit + 1 >= n});
  }
  return node;
}

}  // namespace

Schedule buildBinomial(const ScheduleRequest& request) {
  Schedule schedule =
      frameOf(request, request.channels, treeLinkBlocks(request.collective, request.nranks > 3));
  schedule.closed = !isRooted(request.collective);  // an all-reduce answers every message
  const TreeNode node = nodeOf(request, isRooted(request.collective) ? request.root : 0);
  for (int channel = 0; channel < request.channels; ++channel) {
    addTreeLanes(schedule, request.collective, node, channel, channel);
  }
  return schedule;
}

}  // namespace tutti
