// Schedules on trees: what one rank does given its parent and children. A reduction climbs in one step for
// each rank, a broadcast descends in one, and an all-reduce is both. Which tree it is, the builders say.
#pragma once

#include <vector>

#include "collectives/places.h"
#include "collectives/schedule.h"

namespace tutti {

struct TreeChild {
  int rank;
  bool leaf;  // sends its input as it is
};

// The children's contributions are added in the order of `before`, then the own one, then `after`.
struct TreeNode {
  int parent = -1;  // -1: the root
  std::vector<TreeChild> before;
  std::vector<TreeChild> after;

  bool leaf() const { return before.empty() && after.empty(); }
};

// What frameOf wants to know; `sums` when some rank but the root has children.
LinkBlocks treeLinkBlocks(Collective collective, bool sums);

// Adds the lanes of one rank that reduce, broadcast or all-reduce `block` over the tree's links on `channel`.
// In an all-reduce a climbing lane and a descending one, so that rounds overlap; at the root they are one
// step.
void addTreeLanes(Schedule& schedule, Collective collective, const TreeNode& node, int channel, int block);

}  // namespace tutti
