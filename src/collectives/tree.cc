// The steps of one rank in a tree, for broadcast, reduce and all-reduce.
#include "collectives/tree.h"

#include <utility>

#include "collectives/places.h"

namespace tutti {
namespace {

std::vector<Place> contributions(const TreeNode& node, int channel, int block) {
  std::vector<Place> sources;
  const auto receive = [&](const TreeChild& child) {
    sources.push_back(place::link(child.rank, channel, child.leaf ? Form::raw : Form::partial, block));
  };
  for (const TreeChild& child : node.before) receive(child);
  sources.push_back(place::input(Form::raw, block));
  for (const TreeChild& child : node.after) receive(child);
  return sources;
}

// The own output, then the children; the later ones have the larger subtrees in a binomial tree, so they go
// first.
std::vector<Place> spread(const TreeNode& node, int channel, int block, Form form) {
  std::vector<Place> destinations = {place::output(form, block)};
  for (auto child = node.after.rbegin(); child != node.after.rend(); ++child) {
    destinations.push_back(place::link(child->rank, channel, form, block));
  }
  for (const TreeChild& child : node.before) {
    destinations.push_back(place::link(child.rank, channel, form, block));
  }
  return destinations;
}

}  // namespace

LinkBlocks treeLinkBlocks(Collective collective, bool sums) {
  return {.raw = 1, .partial = reduces(collective) && sums, .result = collective == Collective::allReduce};
}

void addTreeLanes(Schedule& schedule, Collective collective, const TreeNode& node, int channel, int block) {
  const bool root = node.parent < 0;
  const Form form = reduces(collective) ? Form::result : Form::raw;
  if (reduces(collective)) {
    std::vector<Place> destinations;
    if (!root) {
      destinations = {place::link(node.parent, channel, node.leaf() ? Form::raw : Form::partial, block)};
    } else if (collective == Collective::allReduce) {
      destinations = spread(node, channel, block, form);
    } else {
      destinations = {place::output(form, block)};
    }
    addStep(schedule.lanes.emplace_back(), contributions(node, channel, block), std::move(destinations));
  }
  if (collective == Collective::reduce || (collective == Collective::allReduce && root)) return;
  const Place source = root ? place::input(form, block) : place::link(node.parent, channel, form, block);
  addStep(schedule.lanes.emplace_back(), {source}, spread(node, channel, block, form));
}

}  // namespace tutti
