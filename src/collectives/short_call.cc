// See short_call.h.
#include "collectives/short_call.h"

#include <algorithm>
#include <span>

#include "kernels/fit.h"

namespace tutti {

std::unique_ptr<ShortCall> ShortCall::make(Plan& plan, const CallArguments& call) {
  const FlatSchedule& flat = plan.flat();
  if (plan.format() != MailboxFormat::lines || flat.lanes.size() != 1 || flat.usesWindows) return nullptr;
  FitStorage fits(flat);
  LaneState lane = plan.lanes()[0];
  lane.call = &call;
  lane.fit = fits.of(flat.lanes[0]);
  for (std::uint32_t s = 0; s < lane.program->nsteps; ++s) fitStep(lane, s, roundOf(call.cut, 0));
  if (std::any_of(lane.fit.messageBytes, lane.fit.messageBytes + flat.stepEnds.size(),
                  [](std::uint64_t bytes) { return bytes > FlaggedLine::kPayload; }))
    return nullptr;
  return std::unique_ptr<ShortCall>(new ShortCall(lane));
}

ShortCall::ShortCall(const LaneState& lane) : reduction_(lane.call->reduction) {
  const std::span<const FlatStep> flat(lane.program->steps, lane.program->nsteps);
  // Steps point into the lists, which therefore must not move.
  std::size_t incoming = 0, outgoing = 0, sources = 0, destinations = 0;
  for (const FlatStep& step : flat) {
    incoming += step.nincoming;
    outgoing += step.noutgoing;
    sources += step.nsources;
    destinations += step.ndestinations;
  }
  incoming_.reserve(incoming);
  outgoing_.reserve(outgoing);
  sources_.reserve(sources);
  destinations_.reserve(destinations);
  steps_.reserve(flat.size());
  for (std::size_t s = 0; s < flat.size(); ++s) addStep(lane, flat[s], lane.fit.stepElements[s]);
  next_ = steps_.data() + steps_.size();
}

void ShortCall::addStep(const LaneState& lane, const FlatStep& flat, std::uint64_t elements) {
  const auto endOf = [&](std::uint32_t stepEnd) { return lane.ends[lane.program->stepEnds[stepEnd].end]; };
  const auto bytesOf = [&](std::uint32_t stepEnd) {
    return static_cast<std::uint32_t>(lane.fit.messageBytes[stepEnd]);
  };
  Step& step = steps_.emplace_back();
  step.incoming = incoming_.data() + incoming_.size();
  step.outgoing = outgoing_.data() + outgoing_.size();
  step.sources = sources_.data() + sources_.size();
  step.destinations = destinations_.data() + destinations_.size();
  step.sent = &unread_.data;
  std::uint32_t e = flat.firstEnd;
  for (; e < flat.firstEnd + flat.nincoming; ++e) incoming_.push_back({endOf(e), &unread_, bytesOf(e)});
  for (; e < flat.firstEnd + flat.nincoming + flat.noutgoing; ++e) {
    outgoing_.push_back({endOf(e), bytesOf(e)});
  }
  step.incomingEnd = step.incoming + flat.nincoming;
  step.outgoingEnd = step.outgoing + flat.noutgoing;
  if (elements == 0) return;
  step.elements = elements;
  addSources(lane, flat, step);
  addDestinations(lane, flat, step);
}

void ShortCall::addSources(const LaneState& lane, const FlatStep& flat, Step& step) {
  const std::uint32_t first = lane.program->runs[flat.firstRun].firstOperand;
  for (std::uint32_t o = first; o < first + flat.nsources; ++o) {
    const FlatOperand& operand = lane.program->operands[o];
    Source& source = sources_.emplace_back(nullptr, operand.form);
    if (operand.where == Where::link) {
      const auto carrier =
          std::find_if(incoming_.end() - flat.nincoming, incoming_.end(),
                       [&](const Incoming& message) { return message.end == lane.ends[operand.end]; });
      carrier->source = &source;
    } else if (operand.where == Where::scratch) {
      source.data = lane.scratch + lane.fit.offsets[o];
    } else {
      callersSources_.push_back({&source, operand.where == Where::output, lane.fit.offsets[o]});
    }
  }
  step.nsources = flat.nsources;
}

// Outgoing messages have one content, as in moveStaged() of the step body: the source if it is only copied, else what
// the kernel leaves in a place of its own.
void ShortCall::addDestinations(const LaneState& lane, const FlatStep& flat, Step& step) {
  const std::uint32_t first = lane.program->runs[flat.firstRun].firstOperand + flat.nsources;
  const Source& source = step.sources[0];
  for (std::uint32_t o = first; o < first + flat.ndestinations; ++o) {
    const FlatOperand& operand = lane.program->operands[o];
    if (operand.where == Where::link) {
      if (step.sent != &unread_.data) continue;
      if (flat.nsources == 1 && source.form == operand.form) {
        step.sent = &source.data;
        continue;
      }
      step.sent = &step.staged;
    }
    Destination& destination = destinations_.emplace_back(nullptr, operand.form);
    ++step.ndestinations;
    if (operand.where == Where::link)
      step.staged = destination.data = lane.staging + operand.end * lane.stagingStride;
    else if (operand.where == Where::scratch)
      destination.data = lane.scratch + lane.fit.offsets[o];
    else
      callersDestinations_.push_back({&destination, lane.fit.offsets[o]});
  }
}

CallCounts ShortCall::counts() const {
  CallCounts counts;
  for (const Step* step = steps_.data(); step != next_; ++step, ++counts.steps) {
    for (const Outgoing* message = step->outgoing; message != step->outgoingEnd; ++message, ++counts.messages)
      counts.bytes += message->bytes;
  }
  return counts;
}

}  // namespace tutti
