// Two binary trees under one root, each for half of the data (Sanders, Speck and Traeff 2009). Below the root
// no rank has children in both trees, so every rank sends and receives about as much as in a ring, in a
// logarithmic number of steps.
//
//   tree 0 of 8 ranks    0              tree 1    0
//                        |                        |
//                     ___4___                  ___5___        The ranks below the root are moved on by one;
//                    |       |                |       |       were their number even, they would be mirrored.
//                   _2_     _6_              _3_     _7_
//                  |   |   |   |            |   |   |   |
//                  1   3   5   7            2   4   6   1
#include <algorithm>

#include "collectives/builders.h"
#include "collectives/places.h"
#include "collectives/tree.h"

namespace tutti {
namespace {

// Tree 0 by arithmetic: number v > 0 stands above the numbers nearer to it than its lowest set bit, and 0
// above all.
int parentOf(int v, int n) {
  const int bit = v & -v;
  const int up = (v ^ bit) | (bit * 2);
  return up < n ? up : v ^ bit;
}

std::vector<int> childrenOf(int v, int n) {
  if (v == 0) {
    int top = 1;
    while (top * 2 < n) top *= 2;
    return n > 1 ? std::vector<int>{top} : std::vector<int>{};
  }
  std::vector<int> children;
  int half = (v & -v) / 2;
  if (half > 0) children.push_back(v - half);
  while (half > 0 && v + half >= n) half /= 2;
  if (half > 0) children.push_back(v + half);
  return children;
}

// Which number of tree 0 the rank at distance v from the root plays in `tree`, and back. Numbers with
// children are even, so in tree 1 the even ranks must play odd numbers.
int roleOf(int tree, int v, int n) {
  if (tree == 0 || v == 0) return v;
  if (n % 2 == 1) return n - v;
  return v == 1 ? n - 1 : v - 1;
}

int playerOf(int tree, int role, int n) {
  if (tree == 0 || role == 0) return role;
  if (n % 2 == 1) return n - role;
  return role == n - 1 ? 1 : role + 1;
}

TreeNode nodeOf(const ScheduleRequest& request, int root, int tree) {
  const int n = request.nranks;
  const int v = wrap(request.rank - root, n);
  const int role = roleOf(tree, v, n);
  TreeNode node;
  if (v != 0) node.parent = wrap(playerOf(tree, parentOf(role, n), n) + root, n);
  std::vector<int> players;
  for (int child : childrenOf(role, n)) players.push_back(playerOf(tree, child, n));
  std::sort(players.begin(), players.end());
  for (int player : players) {
    const bool leaf = childrenOf(roleOf(tree, player, n), n).empty();
    (player < v ? node.before : node.after).push_back({wrap(player + root, n), leaf});
  }
  return node;
}

}  // namespace

// The trees may share a link, so each has its own channel: tree t of channel c runs on links 2c + t.
Schedule buildDoubleTree(const ScheduleRequest& request) {
  Schedule schedule =
      frameOf(request, 2 * request.channels, treeLinkBlocks(request.collective, request.nranks > 2));
  schedule.closed = !isRooted(request.collective);  // an all-reduce answers every message
  const int root = isRooted(request.collective) ? request.root : 0;
  for (int tree = 0; tree < 2; ++tree) {
    const TreeNode node = nodeOf(request, root, tree);
    for (int channel = 0; channel < request.channels; ++channel) {
      const int own = 2 * channel + tree;
      addTreeLanes(schedule, request.collective, node, own, own);
    }
  }
  return schedule;
}

}  // namespace tutti
