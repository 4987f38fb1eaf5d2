// A lane's program with arrays of its own, as kernels/cuda/virtual_ranks.h wants it: what flatten() makes has one
// set of arrays for all lanes of a rank. Host memory; whoever launches copies the arrays and sets the pointers.
#pragma once

#include <cstdint>
#include <vector>

#include "collectives/flatten.h"
#include "kernels/cuda/virtual_ranks.h"

namespace tutti::cuda {

struct LaneImage {
  std::vector<FlatStep> steps;
  std::vector<FlatRun> runs;
  std::vector<FlatOperand> operands;
  std::vector<FlatEnd> stepEnds;
  std::uint32_t nends = 0;
  std::uint32_t mostOperands = 0;

  explicit LaneImage(const LaneProgram& from) : nends(from.nends), mostOperands(from.mostOperands) {
    for (std::uint32_t s = 0; s < from.nsteps; ++s) {
      FlatStep step = from.steps[s];
      const std::uint32_t noperands = step.nsources + step.ndestinations;
      const std::uint32_t nends = step.nincoming + step.noutgoing;
      const FlatRun* firstRun = from.runs + step.firstRun;
      const FlatEnd* firstEnd = from.stepEnds + step.firstEnd;
      step.firstRun = static_cast<std::uint32_t>(runs.size());
      step.firstEnd = static_cast<std::uint32_t>(stepEnds.size());
      steps.push_back(step);
      stepEnds.insert(stepEnds.end(), firstEnd, firstEnd + nends);
      for (std::uint32_t r = 0; r < step.nruns; ++r) {
        FlatRun run = firstRun[r];
        const FlatOperand* first = from.operands + run.firstOperand;
        run.firstOperand = static_cast<std::uint32_t>(operands.size());
        runs.push_back(run);
        operands.insert(operands.end(), first, first + noperands);
      }
    }
  }

  // With pointers into this object; ends and scratch are the caller's to set.
  VirtualLane onHost() const {
    VirtualLane lane{};
    lane.program = {
        steps.data(), runs.data(), operands.data(), stepEnds.data(), static_cast<std::uint32_t>(steps.size()),
        nends,        mostOperands};
    lane.nruns = static_cast<std::uint32_t>(runs.size());
    lane.noperands = static_cast<std::uint32_t>(operands.size());
    lane.nstepEnds = static_cast<std::uint32_t>(stepEnds.size());
    lane.format = MailboxFormat::slots;
    return lane;
  }
};

}  // namespace tutti::cuda
