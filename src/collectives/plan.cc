// Making plans; cold code.
#include "collectives/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/advance-inl.h"

namespace tutti {

Result<std::unique_ptr<Plan>> Plan::make(const ScheduleRequest& request, MailboxFormat format,
                                         LinkSource& links) {
  std::unique_ptr<Plan> plan(new Plan);
  plan->request_ = request;
  plan->format_ = format;
  plan->flat_ = flatten(buildSchedule(request));
  const FlatSchedule& flat = *plan->flat_;
  if (format == MailboxFormat::words)
    return Status(Code::internalError,
                  "words are for blocks of several threads: a fault of tutti, please report it");
  plan->messageBytes_ = format == MailboxFormat::lines ? links.lineBytes() : links.slotBytes();
  if (!flat.mayTravelAs(format))
    return Status(Code::internalError,
                  fmt::format("{} {} cannot travel as lines: a fault of tutti, please report it",
                              nameOf(request.algorithm), nameOf(request.collective)));

  std::size_t operands = 0;
  std::size_t ends = 0;
  for (const FlatLane& lane : flat.lanes) {
    operands += lane.program.mostOperands;
    ends += lane.program.nends;
  }
  plan->sources_.resize(operands);
  plan->destinations_.resize(operands);
  if (format == MailboxFormat::lines)
    plan->staging_ = std::make_unique_for_overwrite<std::byte[]>(ends * plan->messageBytes_);

  const std::uint64_t stride = plan->scratchStride();
  if (flat.scratchSegments != 0)
    plan->scratch_ = std::make_unique_for_overwrite<std::byte[]>(
        stride * static_cast<std::uint64_t>(flat.scratchSegments));

  operands = ends = 0;
  plan->fits_ = std::make_unique<FitStorage>(flat);
  plan->ends_.reserve(flat.lanes.size());
  for (const FlatLane& flatLane : flat.lanes) {
    auto& laneEnds = plan->ends_.emplace_back();
    for (const LinkUse& use : flatLane.ends) {
      const auto end = links.open({use.peer, use.channel, use.sends, format});
      if (!end.isOk()) return end.status();
      laneEnds.push_back(end.value());
    }
    LaneState& lane = plan->lanes_.emplace_back();
    lane.program = &flatLane.program;
    lane.fit = plan->fits_->of(flatLane);
    lane.ends = laneEnds.data();
    lane.format = format;
    lane.scratch = plan->scratch_.get();
    lane.scratchStride = stride;
    lane.sources = plan->sources_.data() + operands;
    lane.destinations = plan->destinations_.data() + operands;
    if (plan->staging_ != nullptr) lane.staging = plan->staging_.get() + ends * plan->messageBytes_;
    lane.stagingStride = plan->messageBytes_;
    operands += flatLane.program.mostOperands;
    ends += flatLane.program.nends;
  }
  return plan;
}

// A sub-block has at most the elements that let the largest message of each form fit its slot; no form is
// wider than four times the raw one. Lines are not cut, so one sub-block may be a whole message.
std::uint64_t Plan::scratchStride() const {
  std::uint64_t blockBytes = 4 * messageBytes_;
  const std::array<int, 3>& most = flat_->mostLinkBlocks;
  for (std::size_t form = 0; form < most.size() && format_ == MailboxFormat::slots; ++form) {
    const std::uint64_t wider = static_cast<Form>(form) == Form::partial ? 1 : 4;
    if (most[form] != 0)
      blockBytes = std::min(blockBytes, wider * messageBytes_ / static_cast<std::uint64_t>(most[form]));
  }
  return blockBytes * static_cast<std::uint64_t>(flat_->blocksPerSegment);
}

Result<Cut> Plan::cut(std::uint64_t count, const std::uint32_t (&formBytes)[3],
                      std::uint64_t slotBytes) const {
  std::uint64_t capacity = 0;
  const std::uint64_t most = slotBytes == 0 ? messageBytes_ : std::min(slotBytes, messageBytes_);
  if (format_ == MailboxFormat::slots) {
    for (std::size_t form = 0; form < flat_->mostLinkBlocks.size(); ++form) {
      const auto blocks = static_cast<std::uint64_t>(flat_->mostLinkBlocks[form]);
      if (blocks == 0) continue;
      const std::uint64_t fits = most / (blocks * formBytes[form]);
      if (fits == 0)
        return Status(
            Code::invalidArgument,
            fmt::format("{} over {} ranks needs messages of more than {} bytes, which is what a slot holds: "
                        "leave the choice of the algorithm to the library, or force another",
                        nameOf(request_.algorithm), request_.nranks, most));
      capacity = capacity == 0 ? fits : std::min(capacity, fits);
    }
  }
  constexpr std::uint64_t kMostRounds = 1u << 30;
  const auto blocks = static_cast<std::uint64_t>(flat_->blocksPerSegment);
  if (capacity != 0 && count / kMostRounds / blocks >= capacity)
    return Status(Code::invalidArgument,
                  fmt::format("count {} would take more than {} rounds of the schedule", count, kMostRounds));
  return makeCut(count, static_cast<std::uint32_t>(flat_->blocksPerSegment), capacity, formBytes[0]);
}

Result<Plan*> Planner::planFor(Collective collective, int root, const Choice& choice) {
  const std::uint64_t key =
      static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(choice.algorithm) << 8 |
      static_cast<std::uint64_t>(choice.format) << 16 | static_cast<std::uint64_t>(choice.channels) << 20 |
      static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 32;
  if (key == lastKey_) return last_;
  auto& plan = plans_[key];
  if (plan == nullptr) {
    auto made = Plan::make({collective, choice.algorithm, rank_, nranks_, root, choice.channels},
                           choice.format, links_);
    if (!made.isOk()) return made.status();
    plan = std::move(made).value();
  }
  lastKey_ = key;
  last_ = plan.get();
  return last_;
}

}  // namespace tutti
