// The step body: the one piece of code that runs schedules, on hosts, on GPUs and in the emulators of the
// tests. advance() fires at most one step of one round of one lane and never waits. A thread block loops over
// it for its lane; a host thread polls the lanes of all operations it answers for.
//
// A context gives tid() and ntid(), sync() (barrier of the block), every(bool) (barrier that tells whether
// all threads said true), loadAcquire and storeRelease, suspect(end), reduceCopy(...) (all threads together),
// isAbandoned() (the communicator broke during the data of this step, which is then never announced),
// and the constants kOneThread and kSharedWorkspace (the operand lists are shared by the block: filled
// together, then a barrier).
#pragma once

#include "kernels/protocol-inl.h"

namespace tutti {

namespace step {

TUTTI_HOST_DEVICE std::uint64_t messageBytes(const LaneState& lane, const FlatEnd& end) {
  return end.carriesData ? lane.stepElements * lane.call->formBytes[static_cast<int>(end.form)] : 0;
}

// Elements that each data operand of the current step moves in this round.
TUTTI_HOST_DEVICE void enter(LaneState& lane) {
  const FlatStep& step = lane.program->steps[lane.step];
  std::uint64_t elements = 0;
  for (std::uint32_t r = 0; r < step.nruns; ++r) {
    const FlatRun& run = lane.program->runs[step.firstRun + r];
    const Extent extent = extentOf(lane.cut, run.subBlock, run.nsubBlocks);
    elements += extent.end - extent.begin;
  }
  lane.stepElements = elements;
}

TUTTI_HOST_DEVICE void leave(LaneState& lane) {
  ++lane.stepsFired;
  if (++lane.step == lane.program->nsteps) {
    lane.step = 0;
    if (++lane.round == lane.call->cut.rounds) {
      lane.done = true;
      return;
    }
    lane.cut = roundOf(lane.call->cut, lane.round);
  }
  enter(lane);
}

// The thread that looks after a slot end: the same one in every step, because nothing orders the counters of
// an end between the end of one step and the start of the next.
template <class Context>
TUTTI_HOST_DEVICE bool isOwner(const Context& context, const FlatEnd& end) {
  return end.end % context.ntid() == context.tid();
}

TUTTI_HOST_DEVICE std::byte* stagingOf(const LaneState& lane, std::uint32_t end) {
  return lane.staging + end * lane.stagingStride;
}

template <class Context>
TUTTI_HOST_DEVICE bool areLinesReady(Context& context, const LaneState& lane, const FlatEnd& incoming,
                                     MailboxEnd& end) {
  const std::uint64_t bytes = messageBytes(lane, incoming);
  if constexpr (Context::kOneThread) {
    if (bytes > FlaggedLine::kPayload)
      return takeLines(context, end, stagingOf(lane, incoming.end), bytes, lane.call->tag);
  }
  return linesArrived(context, end, bytes, lane.call->tag);
}

template <class Context>
TUTTI_HOST_DEVICE bool isReady(Context& context, const LaneState& lane, const FlatStep& step) {
  const FlatEnd* ends = lane.program->stepEnds + step.firstEnd;
  const std::uint32_t tag = lane.call->tag;
  const std::uint32_t nends = step.nincoming + step.noutgoing;
  bool ready = true;
  for (std::uint32_t i = 0; ready && i < nends; ++i) {
    MailboxEnd& end = *lane.ends[ends[i].end];
    const bool incoming = i < step.nincoming;
    if (end.format == MailboxFormat::lines) {
      if (incoming) ready = areLinesReady(context, lane, ends[i], end);
    } else if (isOwner(context, ends[i])) {
      ready = incoming ? slotArrived(context, end, messageBytes(lane, ends[i]), tag) : slotFree(context, end);
    }
  }
  return context.every(ready);
}

// Where an operand's part of a run begins. `before`: elements of the step's earlier runs, which a message
// holds first.
TUTTI_HOST_DEVICE std::byte* addressOf(const LaneState& lane, const FlatOperand& operand, std::uint64_t begin,
                                       std::uint64_t before) {
  const CallArguments& call = *lane.call;
  const std::uint64_t size = call.formBytes[static_cast<int>(operand.form)];
  const std::uint64_t inSegment = (operand.segment * call.cut.count + begin) * size;
  switch (operand.where) {
    case Where::input:
      return const_cast<std::byte*>(call.input) + inSegment;
    case Where::output:
      return call.output + inSegment;
    case Where::peerInput:
      return const_cast<std::byte*>(call.peerInputs[operand.peer]) + inSegment;
    case Where::peerOutput:
      return call.peerOutputs[operand.peer] + inSegment;
    case Where::scratch:
      return lane.scratch + operand.segment * lane.scratchStride + (begin - lane.cut.begin) * size;
    case Where::link:
      break;
  }
  const MailboxEnd& end = *lane.ends[operand.end];
  if (end.format == MailboxFormat::lines) return linesAt(end)->payload;
  return end.slots + end.slot * end.slotBytes + before * size;
}

TUTTI_HOST_DEVICE bool isLong(const LaneState& lane, const FlatOperand& operand) {
  return operand.where == Where::link && lane.ends[operand.end]->format == MailboxFormat::lines &&
         lane.stepElements * lane.call->formBytes[static_cast<int>(operand.form)] > FlaggedLine::kPayload;
}

// Each thread takes lines of its own, so in a shared workspace each has operand lists of its own too.
template <class Context>
TUTTI_HOST_DEVICE void moveLineByLine(Context& context, LaneState& lane, const FlatStep& step,
                                      const FlatRun& run, std::uint64_t perLine) {
  const FlatOperand* operands = lane.program->operands + run.firstOperand;
  const std::uint64_t begin = extentOf(lane.cut, run.subBlock, run.nsubBlocks).begin;
  const std::uint32_t list = Context::kSharedWorkspace ? context.tid() * lane.program->mostOperands : 0;
  Source* sources = lane.sources + list;
  Destination* destinations = lane.destinations + list;
  for (std::uint64_t first = context.tid() * perLine; first < lane.stepElements;
       first += context.ntid() * perLine) {
    const std::uint64_t left = lane.stepElements - first;
    for (std::uint32_t i = 0; i < step.nsources + step.ndestinations; ++i) {
      const FlatOperand& operand = operands[i];
      std::byte* address = isLong(lane, operand) ? linesAt(*lane.ends[operand.end])[first / perLine].payload
                                                 : addressOf(lane, operand, begin + first, first);
      if (i < step.nsources)
        sources[i] = {address, operand.form};
      else
        destinations[i - step.nsources] = {address, operand.form};
    }
    context.reduceCopyAlone(lane.call->reduction, sources, step.nsources, destinations, step.ndestinations,
                            left < perLine ? left : perLine);
  }
}

// One host thread has gathered the long incoming messages when they arrived (takeLines), and hands out the
// long outgoing ones when it announces them (fillLines). These have one form in a step, hence one content: a
// staging place, or the source itself when it is only copied.
template <class Context>
[[gnu::noinline]] void moveStaged(Context& context, LaneState& lane, const FlatStep& step,
                                  const FlatRun& run) {
  const FlatOperand* operands = lane.program->operands + run.firstOperand;
  const FlatOperand* outputs = operands + step.nsources;
  const std::uint64_t begin = extentOf(lane.cut, run.subBlock, run.nsubBlocks).begin;
  const auto place = [&](const FlatOperand& operand) {
    return isLong(lane, operand) ? stagingOf(lane, operand.end) : addressOf(lane, operand, begin, 0);
  };
  for (std::uint32_t i = 0; i < step.nsources; ++i) lane.sources[i] = {place(operands[i]), operands[i].form};
  std::uint32_t ndestinations = 0;
  lane.outgoingLines = nullptr;
  for (std::uint32_t i = 0; i < step.ndestinations; ++i) {
    if (isLong(lane, outputs[i])) {
      if (lane.outgoingLines != nullptr) continue;
      if (step.nsources == 1 && operands[0].form == outputs[i].form) {
        lane.outgoingLines = static_cast<const std::byte*>(lane.sources[0].data);
        continue;
      }
      lane.outgoingLines = stagingOf(lane, outputs[i].end);
    }
    lane.destinations[ndestinations++] = {place(outputs[i]), outputs[i].form};
  }
  if (ndestinations != 0)
    context.reduceCopy(lane.call->reduction, lane.sources, step.nsources, lane.destinations, ndestinations,
                       lane.stepElements);
}

// Answers how many elements each operand has moved.
template <class Context>
TUTTI_HOST_DEVICE std::uint64_t moveRun(Context& context, LaneState& lane, const FlatStep& step,
                                        const FlatRun& run, std::uint64_t before) {
  const FlatOperand* operands = lane.program->operands + run.firstOperand;
  const Extent extent = extentOf(lane.cut, run.subBlock, run.nsubBlocks);
  const std::uint64_t elements = extent.end - extent.begin;
  const std::uint32_t from = Context::kSharedWorkspace ? context.tid() : 0;
  const std::uint32_t by = Context::kSharedWorkspace ? context.ntid() : 1;
  for (std::uint32_t i = from; i < step.nsources; i += by)
    lane.sources[i] = {addressOf(lane, operands[i], extent.begin, before), operands[i].form};
  for (std::uint32_t i = from; i < step.ndestinations; i += by) {
    const FlatOperand& operand = operands[step.nsources + i];
    lane.destinations[i] = {addressOf(lane, operand, extent.begin, before), operand.form};
  }
  if (Context::kSharedWorkspace) context.sync();
  context.reduceCopy(lane.call->reduction, lane.sources, step.nsources, lane.destinations, step.ndestinations,
                     elements);
  return elements;
}

template <class Context>
TUTTI_HOST_DEVICE void moveData(Context& context, LaneState& lane, const FlatStep& step) {
  if (lane.stepElements == 0) return;
  const FlatRun* runs = lane.program->runs + step.firstRun;
  const FlatOperand* operands = lane.program->operands + runs[0].firstOperand;
  const std::uint32_t* sizes = lane.call->formBytes;
  const bool fitsOneLine =
      lane.stepElements * (sizes[0] > sizes[1] ? sizes[0] : sizes[1]) <= FlaggedLine::kPayload;
  for (std::uint32_t i = 0; !fitsOneLine && i < step.nsources + step.ndestinations; ++i) {
    if (!isLong(lane, operands[i])) continue;
    // The plan uses lines only where every step is one run; blocks of several threads want, besides, that all
    // messages of a step have elements of one size that divides a line's payload.
    if constexpr (Context::kOneThread)
      moveStaged(context, lane, step, runs[0]);
    else
      moveLineByLine(context, lane, step, runs[0],
                     FlaggedLine::kPayload / lane.call->formBytes[static_cast<int>(operands[i].form)]);
    return;
  }
  std::uint64_t before = 0;
  for (std::uint32_t r = 0; r < step.nruns; ++r) {
    if (Context::kSharedWorkspace && r != 0) context.sync();
    before += moveRun(context, lane, step, runs[r], before);
  }
}

template <class Context>
TUTTI_HOST_DEVICE void announceLines(Context& context, const LaneState& lane, const MailboxEnd& end,
                                     std::uint64_t bytes) {
  if constexpr (Context::kOneThread) {
    if (bytes > FlaggedLine::kPayload)
      return fillLines(context, end, lane.outgoingLines, bytes, lane.call->tag);
  }
  postLines(context, end, bytes, lane.call->tag);
}

// Posts what the step sends, then gives back what it has taken.
template <class Context>
TUTTI_HOST_DEVICE void signal(Context& context, LaneState& lane, const FlatStep& step) {
  const FlatEnd* incoming = lane.program->stepEnds + step.firstEnd;
  const FlatEnd* outgoing = incoming + step.nincoming;
  const std::uint32_t tag = lane.call->tag;
  bool lines = false;
  for (std::uint32_t i = 0; i < step.noutgoing; ++i) {
    MailboxEnd& end = *lane.ends[outgoing[i].end];
    const std::uint64_t bytes = messageBytes(lane, outgoing[i]);
    ++lane.messagesSent;
    lane.bytesSent += bytes;
    if (end.format == MailboxFormat::lines) {
      announceLines(context, lane, end, bytes);
      lines = true;
    } else if (isOwner(context, outgoing[i])) {
      postSlot(context, end, bytes, tag);
      countMessage(end, bytes);
    }
  }
  for (std::uint32_t i = 0; i < step.nincoming; ++i) {
    MailboxEnd& end = *lane.ends[incoming[i].end];
    if (end.format == MailboxFormat::lines) {
      lines = true;
    } else if (isOwner(context, incoming[i])) {
      giveSlotBack(context, end);
      countMessage(end, messageBytes(lane, incoming[i]));
    }
  }
  if (!lines) return;
  context.sync();  // every thread has used the counters of the line ends
  for (std::uint32_t i = context.tid(); i < std::uint32_t{step.nincoming} + step.noutgoing;
       i += context.ntid()) {
    MailboxEnd& end = *lane.ends[incoming[i].end];
    if (end.format == MailboxFormat::lines) countMessage(end, messageBytes(lane, incoming[i]));
  }
  context.sync();
}

}  // namespace step

// Puts a lane at the start of a call.
TUTTI_HOST_DEVICE void beginLane(LaneState& lane, const CallArguments& call) {
  lane.call = &call;
  lane.step = 0;
  lane.round = 0;
  lane.stepsFired = lane.messagesSent = lane.bytesSent = 0;
  lane.done = lane.program->nsteps == 0;
  if (lane.done) return;
  lane.cut = roundOf(call.cut, 0);
  step::enter(lane);
}

// Fires the lane's current step if it can. False: it must wait, or is done.
template <class Context>
TUTTI_HOST_DEVICE bool advance(Context& context, LaneState& lane) {
  if (lane.done) return false;
  const FlatStep& step = lane.program->steps[lane.step];
  if (!step::isReady(context, lane, step)) return false;
  step::moveData(context, lane, step);
  if (context.isAbandoned()) return false;
  context.sync();  // the data is whole before it is announced, and read before its slot is given back
  step::signal(context, lane, step);
  step::leave(lane);
  return true;
}

}  // namespace tutti
