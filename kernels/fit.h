// What a count makes of a program in one round: sizes and offsets, worked out once, so that the step body only
// adds. All rounds of a call but the last share one fit, and so do calls that are cut alike.
#pragma once

#include "kernels/lane.h"

namespace tutti {

// Of one step. The offsets of user buffers leave out where the round begins.
TUTTI_HOST_DEVICE void fitStep(const LaneState& lane, std::uint32_t s, const RoundCut& cut) {
  const LaneProgram& program = *lane.program;
  const CallArguments& call = *lane.call;
  const FlatStep& step = program.steps[s];
  std::uint64_t elements = 0;
  for (std::uint32_t r = step.firstRun; r < step.firstRun + step.nruns; ++r) {
    const FlatRun& run = program.runs[r];
    const Extent extent = extentOf(cut, run.subBlock, run.nsubBlocks);
    const std::uint32_t noperands = step.nsources + step.ndestinations;
    for (std::uint32_t o = run.firstOperand; o < run.firstOperand + noperands; ++o) {
      const FlatOperand& operand = program.operands[o];
      const std::uint64_t size = call.formBytes[static_cast<int>(operand.form)];
      const std::uint64_t begin = extent.begin - cut.begin;
      // A message holds the elements of the step's earlier runs first.
      lane.fit.offsets[o] = operand.where == Where::link ? elements * size
                            : operand.where == Where::scratch
                                ? operand.segment * lane.scratchStride + begin * size
                                : (operand.segment * call.cut.count + begin) * size;
    }
    lane.fit.runElements[r] = extent.end - extent.begin;
    elements += extent.end - extent.begin;
  }
  lane.fit.stepElements[s] = elements;
  for (std::uint32_t e = step.firstEnd; e < step.firstEnd + step.nincoming + step.noutgoing; ++e) {
    const FlatEnd& end = program.stepEnds[e];
    lane.fit.messageBytes[e] = end.carriesData ? elements * call.formBytes[static_cast<int>(end.form)] : 0;
  }
}

}  // namespace tutti
