// Turns a Schedule into the flat arrays that the step body runs. What it makes is exactly what the checker
// proved: the same places in the same order, with links numbered per lane and blocks grouped into runs that
// are contiguous in every operand.
#pragma once

#include <memory>
#include <vector>

#include "collectives/schedule.h"
#include "kernels/lane.h"

namespace tutti {

// One end of a link as a lane uses it.
struct LinkUse {
  int peer;
  int channel;
  bool sends;

  bool operator==(const LinkUse&) const = default;
};

struct FlatLane {
  std::vector<LinkUse> ends;
  LaneProgram program;  // points into the owning FlatSchedule
};

struct FlatSchedule {
  std::vector<FlatLane> lanes;
  int blocksPerSegment = 1;
  int scratchSegments = 0;
  bool closed = false;
  bool usesWindows = false;       // some place is a peer's input or output
  bool singleRuns = true;         // every step is one run: messages may travel as lines
  bool oneMessagePerLink = true;  // each end is used once per round
  // Largest number of blocks that a link place holds, by form; 0 when no message carries data in that form.
  int mostLinkBlocks[3] = {0, 0, 0};

  // Storage of the programs.
  std::vector<FlatStep> steps;
  std::vector<FlatRun> runs;
  std::vector<FlatOperand> operands;
  std::vector<FlatEnd> stepEnds;
};

// The programs point into the object, so it stays where it is.
std::unique_ptr<FlatSchedule> flatten(const Schedule& schedule);

}  // namespace tutti
