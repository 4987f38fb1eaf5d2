// A schedule is one rank's program for one round of data: lanes of strictly ordered steps. It is plain data,
// built by pure functions of (rank, nranks, root), proved by the checker, and run by the executor; nothing
// else moves a byte. docs/algorithms.md draws each one.
//
// Rules (docs/architecture.md explains why):
//   1. A link is (from, to, channel). Each of its ends belongs to exactly one lane, and its messages are
//      matched by order alone. from == to is a self link: how one lane of a rank waits for, or feeds, another.
//   2. What a place puts on a link in one round is one message; a step fires once per round, when every
//      incoming link holds its message and every outgoing link has a free slot.
//   3. A link place without blocks posts or takes one empty message: the only signal there is.
//   4. peerInput and peerOutput touch a registered window directly, under the order that messages give.
//   5. Forms: a step with one source whose places all have the same form copies bits; every other computes.
//   6. A lane enters its next round without waiting for the others.
//   7. All places of a step that carry data name equally many blocks, and the i-th block of each has the same
//      sub-block number (block % blocksPerSegment), hence the same number of elements.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/collective.h"
#include "base/number_types.h"
#include "kernels/program.h"

namespace tutti {

// Blocks [block, block + nblocks) of `where`. A block of input, output or scratch is numbered
// segment * blocksPerSegment + sub-block. On a link the number says which data the message carries (for its
// size); it says nothing about where it lands.
struct Place {
  Where where = Where::input;
  Form form = Form::raw;
  int peer = -1;    // link, peerInput, peerOutput: the other rank
  int channel = 0;  // link
  int block = 0;
  int nblocks = 0;

  bool operator==(const Place&) const = default;
};

// destinations[] = reduce(sources[]), sources added in this order. Without data it only takes and posts empty
// messages.
struct Step {
  std::vector<Place> sources;
  std::vector<Place> destinations;

  bool operator==(const Step&) const = default;
};

struct Lane {
  std::vector<Step> steps;

  bool operator==(const Lane&) const = default;
};

struct Schedule {
  std::vector<Lane> lanes;
  int blocksPerSegment = 1;
  int inputSegments = 1;    // 1, or nranks where each rank has a part of its own (reduce-scatter, all-to-all)
  int outputSegments = 1;   // 1, or nranks (all-gather, all-to-all)
  int scratchSegments = 0;  // each of one round's length; used by one lane, always in one form
  // Whoever ends the call knows that every rank it has sent to on a link had begun it. Such schedules may use
  // flagged lines, two buffers by parity without credits, one after another in any mixture.
  bool closed = false;
  // The peers' windows may be touched from the first step on, because an exchange of window descriptors
  // (itself a closed schedule) always runs before it.
  bool afterExchange = false;
  // Blocks of the largest message by form; 0 when none carries data in that form. Over the schedules of all
  // ranks, because they must cut a call alike: a leaf of a chain sends raw blocks only, and the rank behind
  // it wider partial sums.
  std::array<int, 3> mostLinkBlocks = {0, 0, 0};

  bool operator==(const Schedule&) const = default;
};

enum class Algorithm : std::uint8_t {
  none,               // one rank: a copy
  ring,               // Patarasuk and Yuan 2009
  oneShot,            // everybody sends to everybody and adds in rank order
  twoShot,            // direct reduce-scatter, then direct all-gather, over slots
  twoShotWindow,      // the same on registered memory
  binomial,           // binomial tree
  chain,              // pipelined chain
  doubleTree,         // Sanders, Speck and Traeff 2009
  recursiveDoubling,  // Thakur, Rabenseifner and Gropp 2005
  halvingDoubling,    // recursive halving, then doubling; same source
};
inline constexpr int kAlgorithms = 10;
const char* nameOf(Algorithm algorithm);

struct ScheduleRequest {
  Collective collective = Collective::allReduce;
  Algorithm algorithm = Algorithm::ring;
  int rank = 0;
  int nranks = 1;
  int root = 0;  // rooted collectives
  int channels =
      1;  // independent copies of the pattern on their own links, each over its part of every segment
};

// True when the algorithm can serve the collective with that many ranks.
bool serves(Algorithm algorithm, Collective collective, int nranks);

// Pure. The request must be one that `serves` accepts.
Schedule buildSchedule(const ScheduleRequest& request);

// One step or lane as text, for the checker's reports and for people.
std::string describe(const Step& step);
std::string describe(const Schedule& schedule);

}  // namespace tutti
