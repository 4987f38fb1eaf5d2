// The step body: the one piece of code that runs schedules, on hosts, on GPUs and in the emulators of the
// tests. advance() fires at most one step of one round of one lane and never waits. A thread block loops over
// it for its lane; a host thread polls the lanes of all operations it answers for.
//
// A context gives tid() and ntid(), sync() (barrier of the block), every(bool) (barrier that tells whether
// all threads said true), loadAcquire and storeRelease, suspect(end), reduceCopy(...) (all threads together),
// reduceCopyStaged(...) (the same for the few elements of a message, where operands may lie in the staging),
// isAbandoned() (the communicator broke during the data of this step, which is then never announced), and the
// constants kOneThread, kSharedWorkspace (operand lists and fit are shared by the block: filled together, then
// a barrier) and kTakesWords. Unless it is kOneThread: reduceCopyAlone(...) (each thread for itself) for lines;
// if it takes words: loadRelaxed and storeRelaxed.
#pragma once

#include "kernels/fit.h"
#include "kernels/protocol-inl.h"

namespace tutti {

namespace step {

// Each thread of a block with a shared workspace does a part of what is done for all.
template <class Context>
TUTTI_HOST_DEVICE std::uint32_t firstOf(const Context& context) {
  return Context::kSharedWorkspace ? context.tid() : 0;
}
template <class Context>
TUTTI_HOST_DEVICE std::uint32_t everyOf(const Context& context) {
  return Context::kSharedWorkspace ? context.ntid() : 1;
}

template <class Context>
TUTTI_HOST_DEVICE void fitLane(Context& context, LaneState& lane) {
  const RoundCut cut = roundOf(lane.call->cut, lane.round);
  if (Context::kSharedWorkspace) context.sync();  // nobody looks at the old one any more
  for (std::uint32_t s = firstOf(context); s < lane.program->nsteps; s += everyOf(context))
    fitStep(lane, s, cut);
  lane.fit.shape = lane.call->shape;
  lane.fit.elements = cut.elements;
  if (Context::kSharedWorkspace) context.sync();
}

template <class Context>
TUTTI_HOST_DEVICE void enterRound(Context& context, LaneState& lane) {
  const CallArguments& call = *lane.call;
  const std::uint64_t begin = call.cut.roundElements * lane.round;
  const std::uint64_t left = begin < call.cut.count ? call.cut.count - begin : 0;
  const std::uint64_t elements = left < call.cut.roundElements ? left : call.cut.roundElements;
  lane.roundBytes = begin * call.formBytes[static_cast<int>(Form::raw)];
  if (lane.fit.shape != call.shape || lane.fit.elements != elements) fitLane(context, lane);
}

template <class Context>
TUTTI_HOST_DEVICE void leave(Context& context, LaneState& lane) {
  ++lane.stepsFired;
  if (++lane.step != lane.program->nsteps) return;
  lane.step = 0;
  if (++lane.round == lane.call->cut.rounds)
    lane.done = true;
  else
    enterRound(context, lane);
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
TUTTI_HOST_DEVICE bool areLinesReady(Context& context, const LaneState& lane, std::uint32_t stepEnd) {
  const std::uint32_t index = lane.program->stepEnds[stepEnd].end;
  const std::uint64_t bytes = lane.fit.messageBytes[stepEnd];
  MailboxEnd& end = *lane.ends[index];
  if constexpr (Context::kOneThread) {
    if (bytes > FlaggedLine::kPayload)
      return takeLines(context, end, stagingOf(lane, index), bytes, lane.call->tag);
  }
  return linesArrived(context, end, bytes, lane.call->tag);
}

// Takes the words of the step's messages into the staging: wherever a thread puts them, all threads see them
// behind the barrier that isReady() ends with.
template <class Context>
TUTTI_HOST_DEVICE bool takeAllWords(Context& context, const LaneState& lane, const FlatStep& step) {
  std::uint64_t turn = context.tid();
  bool taken = true;
  for (std::uint32_t i = step.firstEnd; taken && i < step.firstEnd + step.nincoming; ++i) {
    const std::uint32_t index = lane.program->stepEnds[i].end;
    taken = takeWords(context, *lane.ends[index], stagingOf(lane, index), lane.fit.messageBytes[i],
                      lane.call->tag, turn);
  }
  return taken;
}

template <class Context>
TUTTI_HOST_DEVICE bool isReady(Context& context, const LaneState& lane, const FlatStep& step) {
  if constexpr (Context::kTakesWords) {
    if (lane.format == MailboxFormat::words) return context.every(takeAllWords(context, lane, step));
  }
  const std::uint32_t firstOutgoing = step.firstEnd + step.nincoming;
  const std::uint32_t end = firstOutgoing + step.noutgoing;
  bool ready = true;
  if (lane.format == MailboxFormat::lines) {
    for (std::uint32_t i = step.firstEnd; ready && i < firstOutgoing; ++i)
      ready = areLinesReady(context, lane, i);
  } else {
    for (std::uint32_t i = step.firstEnd; ready && i < end; ++i) {
      const FlatEnd& flat = lane.program->stepEnds[i];
      if (!isOwner(context, flat)) continue;
      ready = i < firstOutgoing
                  ? slotArrived(context, *lane.ends[flat.end], lane.fit.messageBytes[i], lane.call->tag)
                  : slotFree(context, *lane.ends[flat.end]);
    }
  }
  return context.every(ready);
}

// Where the data of an operand begins in this round; `offset` is its own of the fit.
TUTTI_HOST_DEVICE std::byte* addressOf(const LaneState& lane, const FlatOperand& operand,
                                       std::uint64_t offset) {
  const CallArguments& call = *lane.call;
  if (operand.where == Where::link)
    return slotAt(*lane.ends[operand.end]) + offset;  // a line begins with its payload
  if (operand.where == Where::scratch) return lane.scratch + offset;
  offset += lane.roundBytes;
  if (operand.where == Where::input) return const_cast<std::byte*>(call.input) + offset;
  if (operand.where == Where::output) return call.output + offset;
  return operand.where == Where::peerInput ? const_cast<std::byte*>(call.peerInputs[operand.peer]) + offset
                                           : call.peerOutputs[operand.peer] + offset;
}

// Lines: the operand's message does not fit one.
TUTTI_HOST_DEVICE bool isLong(const LaneState& lane, const FlatOperand& operand) {
  return operand.where == Where::link &&
         lane.fit.stepElements[lane.step] * lane.call->formBytes[static_cast<int>(operand.form)] >
             FlaggedLine::kPayload;
}

// Each thread takes lines of its own, so in a shared workspace each has operand lists of its own too.
template <class Context>
TUTTI_HOST_DEVICE void moveLineByLine(Context& context, LaneState& lane, const FlatStep& step,
                                      std::uint32_t firstOperand, std::uint64_t perLine) {
  const std::uint32_t list = Context::kSharedWorkspace ? context.tid() * lane.program->mostOperands : 0;
  Source* sources = lane.sources + list;
  Destination* destinations = lane.destinations + list;
  const std::uint64_t elements = lane.fit.stepElements[lane.step];
  for (std::uint64_t first = context.tid() * perLine; first < elements; first += context.ntid() * perLine) {
    const std::uint64_t left = elements - first;
    for (std::uint32_t i = 0; i < step.nsources + step.ndestinations; ++i) {
      const FlatOperand& operand = lane.program->operands[firstOperand + i];
      const std::uint64_t offset =
          lane.fit.offsets[firstOperand + i] + first * lane.call->formBytes[static_cast<int>(operand.form)];
      std::byte* address = isLong(lane, operand) ? linesAt(*lane.ends[operand.end])[first / perLine].payload
                                                 : addressOf(lane, operand, offset);
      if (i < step.nsources)
        sources[i] = {address, operand.form};
      else
        destinations[i - step.nsources] = {address, operand.form};
    }
    context.reduceCopyAlone(lane.call->reduction, sources, step.nsources, destinations, step.ndestinations,
                            left < perLine ? left : perLine);
  }
}

// A message that is gathered in the staging before it is read, or filled from there: all that travel as words,
// and the long ones that travel as lines.
template <class Context>
TUTTI_HOST_DEVICE bool isStaged(const LaneState& lane, const FlatOperand& operand) {
  if constexpr (Context::kOneThread)
    return isLong(lane, operand);
  else
    return operand.where == Where::link;
}

// The incoming messages have been gathered when they arrived (takeLines, takeWords), and the outgoing ones are
// handed out when they are announced (fillLines, postWords): payload and flag at once, because a line that is
// written in two goes is taken away by the reader's polling in between, and a word is never written in two.
// Outgoing messages have one form in a step, hence one content: a staging place, or the source itself when it
// is only copied. What several threads fill or read here lies between the barriers that every step has.
template <class Context>
TUTTI_HOST_DEVICE void moveStaged(Context& context, LaneState& lane, const FlatStep& step,
                                  std::uint32_t firstOperand) {
  const FlatOperand* operands = lane.program->operands + firstOperand;
  const std::uint64_t* offsets = lane.fit.offsets + firstOperand;
  const std::uint32_t nsources = step.nsources;
  const std::uint32_t noperands = nsources + step.ndestinations;
  const auto isMine = [&](std::uint32_t i) { return i % everyOf(context) == firstOf(context); };
  const auto sourceAt = [&](std::uint32_t i) {
    return isStaged<Context>(lane, operands[i]) ? stagingOf(lane, operands[i].end)
                                                : addressOf(lane, operands[i], offsets[i]);
  };
  for (std::uint32_t i = 0; i < nsources; ++i) {
    if (isMine(i)) lane.sources[i] = {sourceAt(i), operands[i].form};
  }
  std::uint32_t ndestinations = 0;
  const auto addDestination = [&](std::byte* address, Form form) {
    if (isMine(ndestinations)) lane.destinations[ndestinations] = {address, form};
    ++ndestinations;
  };
  const std::byte* outgoing = nullptr;
  for (std::uint32_t i = nsources; i < noperands; ++i) {
    const FlatOperand& output = operands[i];
    if (output.where != Where::link) {
      addDestination(addressOf(lane, output, offsets[i]), output.form);
    } else if (outgoing == nullptr) {
      if (nsources == 1 && operands[0].form == output.form) {
        outgoing =
            Context::kSharedWorkspace ? sourceAt(0) : static_cast<const std::byte*>(lane.sources[0].data);
      } else {
        outgoing = stagingOf(lane, output.end);
        addDestination(stagingOf(lane, output.end), output.form);
      }
    }
  }
  lane.outgoing = outgoing;
  if (ndestinations == 0) return;
  if (Context::kSharedWorkspace) context.sync();
  context.reduceCopyStaged(lane.call->reduction, lane.sources, static_cast<int>(nsources), lane.destinations,
                           static_cast<int>(ndestinations), lane.fit.stepElements[lane.step]);
}

// True when it has moved the step's data because some message takes several lines.
template <class Context>
TUTTI_HOST_DEVICE bool moveLongLines(Context& context, LaneState& lane, const FlatStep& step) {
  // The plan uses lines only where every step is one run; blocks of several threads want, besides, that all
  // messages of a step have elements of one size that divides a line's payload.
  const std::uint32_t firstOperand = lane.program->runs[step.firstRun].firstOperand;
  const std::uint32_t* sizes = lane.call->formBytes;
  if (lane.fit.stepElements[lane.step] * (sizes[0] > sizes[1] ? sizes[0] : sizes[1]) <= FlaggedLine::kPayload)
    return false;
  for (std::uint32_t i = 0; i < step.nsources + step.ndestinations; ++i) {
    const FlatOperand& operand = lane.program->operands[firstOperand + i];
    if (!isLong(lane, operand)) continue;
    moveLineByLine(context, lane, step, firstOperand,
                   FlaggedLine::kPayload / lane.call->formBytes[static_cast<int>(operand.form)]);
    return true;
  }
  return false;
}

template <class Context>
TUTTI_HOST_DEVICE void moveRun(Context& context, LaneState& lane, const FlatStep& step, std::uint32_t run) {
  const std::uint32_t first = lane.program->runs[run].firstOperand;
  const FlatOperand* operands = lane.program->operands + first;
  const std::uint64_t* offsets = lane.fit.offsets + first;
  const std::uint32_t nsources = step.nsources;
  const std::uint32_t noperands = nsources + step.ndestinations;
  for (std::uint32_t i = firstOf(context); i < noperands; i += everyOf(context)) {
    std::byte* address = addressOf(lane, operands[i], offsets[i]);
    if (i < nsources)
      lane.sources[i] = {address, operands[i].form};
    else
      lane.destinations[i - nsources] = {address, operands[i].form};
  }
  if (Context::kSharedWorkspace) context.sync();
  context.reduceCopy(lane.call->reduction, lane.sources, step.nsources, lane.destinations, step.ndestinations,
                     lane.fit.runElements[run]);
}

// False: its messages, if any, are empty, as those that order the use of windows.
TUTTI_HOST_DEVICE bool exchangesData(const LaneState& lane, const FlatStep& step) {
  bool exchanges = false;
  for (std::uint32_t i = 0; i < step.nincoming + step.noutgoing; ++i)
    exchanges = exchanges || lane.program->stepEnds[step.firstEnd + i].carriesData;
  return exchanges;
}

template <class Context>
TUTTI_HOST_DEVICE void moveData(Context& context, LaneState& lane, const FlatStep& step) {
  if (lane.fit.stepElements[lane.step] == 0) return;
  const std::uint32_t firstOperand = lane.program->runs[step.firstRun].firstOperand;
  if constexpr (Context::kOneThread) {
    if (lane.format == MailboxFormat::lines) return moveStaged(context, lane, step, firstOperand);
  } else {
    if constexpr (Context::kTakesWords) {
      if (lane.format == MailboxFormat::words && exchangesData(lane, step))
        return moveStaged(context, lane, step, firstOperand);
    }
    if (lane.format == MailboxFormat::lines && moveLongLines(context, lane, step)) return;
  }
  for (std::uint32_t r = 0; r < step.nruns; ++r) {
    if (Context::kSharedWorkspace && r != 0) context.sync();
    moveRun(context, lane, step, step.firstRun + r);
  }
}

template <class Context>
TUTTI_HOST_DEVICE void announceLines(Context& context, const LaneState& lane, const MailboxEnd& end,
                                     std::uint64_t bytes) {
  if constexpr (Context::kOneThread)
    fillLines(context, end, lane.outgoing, bytes, lane.call->tag);
  else
    postLines(context, end, bytes, lane.call->tag);
}

// Lines and words.
template <class Context>
TUTTI_HOST_DEVICE void signalFlagged(Context& context, LaneState& lane, const FlatStep& step) {
  const FlatEnd* ends = lane.program->stepEnds;
  const std::uint32_t firstOutgoing = step.firstEnd + step.nincoming;
  const std::uint32_t end = firstOutgoing + step.noutgoing;
  [[maybe_unused]] std::uint64_t turn = context.tid();
  for (std::uint32_t i = firstOutgoing; i < end; ++i) {
    const std::uint64_t bytes = lane.fit.messageBytes[i];
    const MailboxEnd& outgoing = *lane.ends[ends[i].end];
    lane.bytesSent += bytes;
    if constexpr (Context::kTakesWords) {
      if (lane.format == MailboxFormat::words) {
        postWords(context, outgoing, lane.outgoing, bytes, lane.call->tag, turn);
        continue;
      }
    }
    announceLines(context, lane, outgoing, bytes);
  }
  context.sync();  // every thread has used the counters of the ends
  for (std::uint32_t i = step.firstEnd + context.tid(); i < end; i += context.ntid())
    countMessage(*lane.ends[ends[i].end], lane.fit.messageBytes[i]);
  context.sync();
}

template <class Context>
TUTTI_HOST_DEVICE void signalSlots(Context& context, LaneState& lane, const FlatStep& step) {
  const FlatEnd* ends = lane.program->stepEnds;
  const std::uint32_t firstOutgoing = step.firstEnd + step.nincoming;
  for (std::uint32_t i = firstOutgoing; i < firstOutgoing + step.noutgoing; ++i) {
    const std::uint64_t bytes = lane.fit.messageBytes[i];
    lane.bytesSent += bytes;
    if (!isOwner(context, ends[i])) continue;
    MailboxEnd& outgoing = *lane.ends[ends[i].end];
    postSlot(context, outgoing, bytes, lane.call->tag);
    countMessage(outgoing, bytes);
  }
  for (std::uint32_t i = step.firstEnd; i < firstOutgoing; ++i) {
    if (!isOwner(context, ends[i])) continue;
    MailboxEnd& incoming = *lane.ends[ends[i].end];
    giveSlotBack(context, incoming);
    countMessage(incoming, lane.fit.messageBytes[i]);
  }
}

// Posts what the step sends, then gives back what it has taken.
template <class Context>
TUTTI_HOST_DEVICE void signal(Context& context, LaneState& lane, const FlatStep& step) {
  if (step.nincoming + step.noutgoing == 0) return;
  lane.messagesSent += step.noutgoing;
  if (lane.format == MailboxFormat::slots)
    signalSlots(context, lane, step);
  else
    signalFlagged(context, lane, step);
}

}  // namespace step

// Puts a lane at the start of a call. All threads of a block together.
template <class Context>
TUTTI_HOST_DEVICE void beginLane(Context& context, LaneState& lane, const CallArguments& call) {
  lane.call = &call;
  lane.step = 0;
  lane.round = 0;
  lane.stepsFired = lane.messagesSent = lane.bytesSent = 0;
  lane.done = lane.program->nsteps == 0;
  if (!lane.done) step::enterRound(context, lane);
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
  step::leave(context, lane);
  return true;
}

}  // namespace tutti
