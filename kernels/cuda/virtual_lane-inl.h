// What one thread block does with one lane: takes its program, its mailbox ends and its call into the block's
// workspace, runs the step body to the end or to the deadline, and puts the counters of the ends back. A template
// over the context as the step body is, so that emulated blocks run it too.
//
// The workspace is shared memory on a GPU. An acquiring load empties the first-level cache, so whatever stayed
// in global memory would be fetched anew in every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/advance-inl.h"
#include "kernels/cuda/virtual_ranks.h"

namespace tutti::cuda {

struct LaneWorkspace {
  MailboxEnd* ends;
  CallArguments* call;
  LaneProgram* program;
  MailboxEnd** endPointers;
  std::byte* staging;  // words only
  Source* sources;
  Destination* destinations;
  LaneFit fit;
  FlatStep* steps;
  FlatRun* runs;
  FlatOperand* operands;
  FlatEnd* stepEnds;
  std::size_t bytes;
};

// Lines want operand lists for each thread; everything else one of the block.
TUTTI_HOST_DEVICE LaneWorkspace workspaceOf(const VirtualLane& lane, std::uint32_t nthreads,
                                            std::byte* base) {
  LaneWorkspace workspace;
  std::size_t used = 0;
  const auto room = [&](auto*& array, std::size_t count, std::size_t alignment = 1) {
    using T = std::remove_reference_t<decltype(*array)>;
    if (alignment < alignof(T)) alignment = alignof(T);
    used = (used + alignment - 1) / alignment * alignment;
    array = reinterpret_cast<T*>(base + used);
    used += count * sizeof(T);
  };
  const std::size_t lists = lane.program.mostOperands * (lane.format == MailboxFormat::lines ? nthreads : 1);
  room(workspace.ends, lane.program.nends);
  room(workspace.staging, lane.format == MailboxFormat::words ? lane.program.nends * lane.stagingStride : 0,
       16);
  room(workspace.call, 1);
  room(workspace.program, 1);
  room(workspace.endPointers, lane.program.nends);
  room(workspace.sources, lists);
  room(workspace.destinations, lists);
  room(workspace.fit.offsets, lane.noperands);
  room(workspace.fit.runElements, lane.nruns);
  room(workspace.fit.messageBytes, lane.nstepEnds);
  room(workspace.fit.stepElements, lane.program.nsteps);
  room(workspace.steps, lane.program.nsteps);
  room(workspace.runs, lane.nruns);
  room(workspace.operands, lane.noperands);
  room(workspace.stepEnds, lane.nstepEnds);
  workspace.bytes = used;
  return workspace;
}

template <class Context, class T>
TUTTI_HOST_DEVICE void bringIn(const Context& context, T* to, const T* from, std::uint32_t count) {
  for (std::uint32_t i = context.tid(); i < count; i += context.ntid()) to[i] = from[i];
}

// `memory` has the bytes that workspaceOf() says, aligned as a MailboxEnd is. All threads of the block together.
template <class Context>
TUTTI_HOST_DEVICE void runVirtualLane(Context& context, const VirtualLane& from, const CallArguments& call,
                                      std::uint32_t repeats, std::byte* memory, LaneOutcome* outcome) {
  const LaneWorkspace workspace = workspaceOf(from, context.ntid(), memory);
  bringIn(context, workspace.steps, from.program.steps, from.program.nsteps);
  bringIn(context, workspace.runs, from.program.runs, from.nruns);
  bringIn(context, workspace.operands, from.program.operands, from.noperands);
  bringIn(context, workspace.stepEnds, from.program.stepEnds, from.nstepEnds);
  bringIn(context, workspace.call, &call, 1);
  for (std::uint32_t i = context.tid(); i < from.program.nends; i += context.ntid()) {
    workspace.ends[i] = *from.ends[i];
    workspace.endPointers[i] = &workspace.ends[i];
  }
  if (context.tid() == 0)
    *workspace.program = {workspace.steps,          workspace.runs,      workspace.operands,
                          workspace.stepEnds,       from.program.nsteps, from.program.nends,
                          from.program.mostOperands};
  context.sync();

  LaneState lane;
  lane.program = workspace.program;
  lane.ends = workspace.endPointers;
  lane.format = from.format;
  lane.scratch = from.scratch;
  lane.scratchStride = from.scratchStride;
  lane.sources = workspace.sources;
  lane.destinations = workspace.destinations;
  lane.staging = workspace.staging;
  lane.stagingStride = from.stagingStride;
  lane.fit = workspace.fit;
  lane.fit.shape = 0;  // whatever the memory held, it is no fit
  bool inTime = true;
  std::uint32_t calls = 0;
  while (inTime && calls < repeats) {
    beginLane(context, lane, *workspace.call);
    while (inTime && !lane.done) inTime = advance(context, lane) || context.mayWait();
    if (lane.done) ++calls;
  }

  context.sync();  // the last step's counters
  for (std::uint32_t i = context.tid(); i < from.program.nends; i += context.ntid())
    *from.ends[i] = workspace.ends[i];
  const bool suspicious = context.anySuspicion();
  if (context.tid() == 0)
    *outcome = {lane.stepsFired, lane.messagesSent, lane.bytesSent, calls,
                lane.step,       lane.round,        lane.done,      suspicious};
}

}  // namespace tutti::cuda
