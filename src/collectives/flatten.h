// Turns a Schedule into the flat arrays that the step body runs. What it makes is exactly what the checker
// proved: the same places in the same order, with links numbered per lane and blocks grouped into runs that
// are contiguous in every operand.
#pragma once

#include <array>
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
  bool usesWindows = false;                       // some place is a peer's input or output
  bool singleRuns = true;                         // every step is one run
  bool oneMessagePerLink = true;                  // each end is used once per round
  bool lanesApart = true;                         // no two lanes work on the same sub-block
  std::array<int, 3> mostLinkBlocks = {0, 0, 0};  // as the schedule says: over all ranks

  // Whether its messages may travel in that format. Words order nothing but themselves, so where one lane
  // writes, in place, what another one has read, nothing would order the two, although the data has gone from
  // the one to the other.
  bool mayTravelAs(MailboxFormat format) const {
    if (format == MailboxFormat::slots) return true;
    return closed && singleRuns && oneMessagePerLink && (format == MailboxFormat::lines || lanesApart);
  }

  // Storage of the programs.
  std::vector<FlatStep> steps;
  std::vector<FlatRun> runs;
  std::vector<FlatOperand> operands;
  std::vector<FlatEnd> stepEnds;
};

// Room for what kernels/fit.h works out of a schedule.
class FitStorage {
 public:
  explicit FitStorage(const FlatSchedule& flat)
      : flat_(flat),
        words_(flat.operands.size() + flat.runs.size() + flat.stepEnds.size() + flat.steps.size()) {}

  LaneFit of(const FlatLane& lane) {
    LaneFit fit;
    fit.offsets = words_.data();
    fit.runElements = fit.offsets + flat_.operands.size();
    fit.messageBytes = fit.runElements + flat_.runs.size();
    fit.stepElements = fit.messageBytes + flat_.stepEnds.size() + (lane.program.steps - flat_.steps.data());
    return fit;
  }

 private:
  const FlatSchedule& flat_;
  std::vector<std::uint64_t> words_;
};

// The programs point into the object, so it stays where it is.
std::unique_ptr<FlatSchedule> flatten(const Schedule& schedule);

}  // namespace tutti
