// See execute.h. The choice of a call is made from facts that all ranks share; what one rank alone knows (in
// place, alignment) never enters it.
#include "collectives/execute.h"

#include <fmt/format.h>

#include <new>
#include <utility>

namespace tutti {
namespace {

constexpr std::uint64_t kExchangeShape = ~std::uint64_t{0};  // always the same

CallArguments argumentsOf(DataType type, Operation operation, int nranks) {
  CallArguments arguments;
  arguments.reduction = {type, operation, static_cast<std::uint32_t>(nranks)};
  for (const Form form : {Form::raw, Form::partial, Form::result})
    arguments.formBytes[static_cast<int>(form)] = static_cast<std::uint32_t>(bytesOf(type, operation, form));
  return arguments;
}

}  // namespace

Execution::Execution(int rank, int nranks, Planner& planner, const PlanTable& table, WindowGate gate,
                     const Bells& bells, std::span<const std::span<std::byte>> windows)
    : rank_(rank),
      nranks_(nranks),
      planner_(planner),
      table_(table),
      gate_(gate),
      bells_(bells),
      windows_(windows.begin(), windows.end()),
      copyBytes_(reduceCopyFor(DataType::u8, Operation::sum)),
      prepared_(kPrepared) {}

CallFacts Execution::factsOf(const CollectiveCall& call, bool windows) const {
  const CallDescriptor& descriptor = call.descriptor;
  return {descriptor.collective, descriptor.type, descriptor.operation, descriptor.count, nranks_, windows};
}

Status Execution::prepare(const CollectiveCall& call) {
  if (call.exchange && exchangePlan_ == nullptr) {
    const auto n = static_cast<std::size_t>(nranks_);
    offers_.resize(n);
    peerInputs_.resize(n);
    peerOutputs_.resize(n);
    const Choice lines{Algorithm::oneShot, MailboxFormat::lines, 1, 0, "exchange of windows"};
    const auto plan = planner_.planFor(Collective::allGather, 0, lines);
    if (!plan.isOk()) return plan.status();
    exchangePlan_ = plan.value();
  }
  // Both ways are prepared before an exchange, so that nothing can fail once it has begun.
  const bool onlyWindows = call.exchange && table_.forced.of(call.descriptor.collective).has_value();
  if (call.exchange) TUTTI_TRY(statusOf(prepared(call, true)));
  const auto body = prepared(call, onlyWindows);
  if (!body.isOk()) return body.status();
  body_ = body.value();
  return Status();
}

Result<Execution::Prepared*> Execution::prepared(const CollectiveCall& call, bool windows) {
  const std::uint64_t key = keyOf(call.descriptor, windows);
  Prepared& entry = entryOf(key, call.descriptor.count);
  if (!entry.isOf(key, call.descriptor.count)) {
    if (&entry == last_) {
      replaced_ = std::move(entry);
      last_ = &replaced_;
    }
    entry = Prepared();
    Prepared made;
    TUTTI_TRY(fill(made, call, windows));
    made.key = key;
    made.count = call.descriptor.count;
    entry = std::move(made);
  }
  return &entry;
}

Status Execution::fill(Prepared& entry, const CollectiveCall& call, bool windows) {
  const CallFacts facts = factsOf(call, windows);
  const auto choice = choose(table_, facts);
  if (!choice.isOk()) return choice.status();
  const auto plan = planner_.planFor(facts.collective, call.descriptor.root, choice.value());
  if (!plan.isOk()) return plan.status();
  entry.choice = choice.value();
  entry.plan = plan.value();
  entry.digest = digestOf(call.descriptor);
  entry.kernel = reduceCopyFor(facts.type, facts.operation);
  entry.arguments = argumentsOf(facts.type, facts.operation, nranks_);
  const auto cut = plan.value()->cut(facts.count, entry.arguments.formBytes, entry.choice.slotBytes);
  if (!cut.isOk()) return cut.status();
  entry.arguments.cut = cut.value();
  entry.arguments.shape = ++shapes_;
  entry.brief = ShortCall::make(*entry.plan, entry.arguments);
  return Status();
}

void Execution::begin(Plan& plan, const CallArguments& arguments) {
  running_ = &plan;
  brief_ = nullptr;
  for (LaneState& lane : plan.lanes()) beginLane(context_, lane, arguments);
}

void Execution::startLong() {
  outcome_ = Status();
  if (call_.exchange) return startExchange();
  startBody(*body_);
}

void Execution::startExchange() {
  const auto placeOf = [this](const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) - windowBase(rank_);
  };
  offer_ = {call_.registered ? 1u : 0u, placeOf(call_.input), placeOf(call_.output)};
  exchangeArguments_ = argumentsOf(DataType::u8, Operation::sum, nranks_);
  exchangeArguments_.shape = kExchangeShape;
  exchangeArguments_.input = reinterpret_cast<const std::byte*>(&offer_);
  exchangeArguments_.output = reinterpret_cast<std::byte*>(offers_.data());
  exchangeArguments_.tag = tag_;
  exchangeArguments_.cut =
      makeCut(sizeof(WindowOffer), static_cast<std::uint32_t>(exchangePlan_->flat().blocksPerSegment), 0, 1);
  context_.kernel = copyBytes_;
  context_.gate = nullptr;
  phase_ = Phase::exchange;
  begin(*exchangePlan_, exchangeArguments_);
}

void Execution::startBody(Prepared& prepared) {
  if (prepared.brief != nullptr) return startBrief(prepared);
  last_ = &prepared;
  prepared.arguments.input = static_cast<const std::byte*>(call_.input);
  prepared.arguments.output = static_cast<std::byte*>(call_.output);
  prepared.arguments.tag = tag_;
  context_.kernel = prepared.kernel;
  context_.gate = prepared.plan->flat().usesWindows ? &gate_ : nullptr;
  phase_ = Phase::body;
  begin(*prepared.plan, prepared.arguments);
}

bool Execution::isWithin(const WindowOffer& offer, int rank) const {
  if (windows_.empty()) return true;
  const CallDescriptor& call = call_.descriptor;
  const std::uint64_t room = windows_[static_cast<std::size_t>(rank)].size();
  const auto fits = [room](std::uint64_t begin, std::uint64_t bytes) {
    return bytes == 0 || (bytes <= room && begin <= room - bytes);
  };
  return fits(offer.input, inputBytesOf(call, rank, nranks_)) &&
         fits(offer.output, outputBytesOf(call, rank, nranks_));
}

void Execution::endExchange() {
  try {
    actOnOffers();
  } catch (const std::bad_alloc&) {
    outcome_ = Status::outOfMemory();
    phase_ = Phase::done;
  }
}

// All ranks see the same offers, hence go the same way.
void Execution::actOnOffers() {
  bool all = true;
  for (int rank = 0; rank < nranks_; ++rank) {
    const WindowOffer& offer = offers_[static_cast<std::size_t>(rank)];
    all &= offer.registered != 0;
    if (offer.registered != 0 && !isWithin(offer, rank)) {
      outcome_ =
          Status(Code::internalError,
                 fmt::format("rank {} says that its registered buffers lie where its process shares no "
                             "memory. Memory was overwritten, or this is a fault of tutti: report it",
                             rank));
      phase_ = Phase::done;
      return;
    }
    peerInputs_[static_cast<std::size_t>(rank)] =
        reinterpret_cast<const std::byte*>(windowBase(rank) + offer.input);
    peerOutputs_[static_cast<std::size_t>(rank)] =
        reinterpret_cast<std::byte*>(windowBase(rank) + offer.output);
  }
  if (all) {
    Prepared& direct = *prepared(call_, true).value();  // prepare() has made it
    direct.arguments.peerInputs = peerInputs_.data();
    direct.arguments.peerOutputs = peerOutputs_.data();
    startBody(direct);
  } else if (table_.forced.of(call_.descriptor.collective).has_value()) {
    outcome_ = statusOf(choose(table_, factsOf(call_, false)));
    phase_ = Phase::done;
  } else {
    startBody(*body_);
  }
}

// True when all lanes are done.
bool Execution::advanceLanes(bool& fired) {
  bool done = true;
  for (LaneState& lane : running_->lanes()) {
    while (advance(context_, lane)) fired = true;
    done &= lane.done;
  }
  return done;
}

// Whoever waits for this call's messages or slots is at the other end of one of its links.
void Execution::ringPeers() const noexcept {
  for (const FlatLane& lane : running_->flat().lanes) {
    for (const LinkUse& end : lane.ends) bells_.ring(end.peer);
  }
}

bool Execution::pollLanes() {
  bool fired = false;
  const bool done = advanceLanes(fired);
  if (fired && bells_.anybodySleeps()) [[unlikely]]
    ringPeers();
  if (!done) return fired;
  if (phase_ == Phase::exchange)
    endExchange();
  else
    phase_ = Phase::done;
  return true;
}

CallCounts Execution::counts() const {
  if (plan() == nullptr) return {};
  if (last_->brief != nullptr) return last_->brief->counts();
  CallCounts counts;
  for (const LaneState& lane : plan()->lanes()) {
    counts.steps += lane.stepsFired;
    counts.messages += lane.messagesSent;
    counts.bytes += lane.bytesSent;
  }
  return counts;
}

std::uint64_t Execution::bytesSentTo(const std::function<bool(int peer)>& counts) const {
  if (plan() == nullptr) return 0;
  const FlatSchedule& flat = plan()->flat();
  FitStorage fits(flat);
  std::uint64_t bytes = 0;
  for (std::size_t l = 0; l < flat.lanes.size(); ++l) {
    LaneState lane = plan()->lanes()[l];
    lane.call = &last_->arguments;
    lane.fit = fits.of(flat.lanes[l]);
    for (std::uint32_t round = 0; round < cut().rounds; ++round) {
      for (std::uint32_t s = 0; s < lane.program->nsteps; ++s) {
        fitStep(lane, s, roundOf(cut(), round));
        const FlatStep& step = lane.program->steps[s];
        const std::uint32_t first = step.firstEnd + step.nincoming;
        for (std::uint32_t e = first; e < first + step.noutgoing; ++e) {
          if (counts(flat.lanes[l].ends[lane.program->stepEnds[e].end].peer))
            bytes += lane.fit.messageBytes[e];
        }
      }
    }
  }
  return bytes;
}

std::uint64_t Execution::windowBytes() const {
  if (plan() == nullptr || !plan()->flat().usesWindows) return 0;
  std::uint64_t bytes = 0;
  for (const FlatLane& lane : plan()->flat().lanes) {
    for (std::uint32_t round = 0; round < cut().rounds; ++round) {
      const RoundCut cut = roundOf(this->cut(), round);
      for (std::uint32_t s = 0; s < lane.program.nsteps; ++s) {
        const FlatStep& step = lane.program.steps[s];
        for (std::uint32_t r = 0; r < step.nruns; ++r) {
          const FlatRun& run = lane.program.runs[step.firstRun + r];
          const Extent extent = extentOf(cut, run.subBlock, run.nsubBlocks);
          for (std::uint32_t i = 0; i < std::uint32_t{step.nsources} + step.ndestinations; ++i) {
            const FlatOperand& operand = lane.program.operands[run.firstOperand + i];
            if (operand.where == Where::peerInput || operand.where == Where::peerOutput)
              bytes +=
                  (extent.end - extent.begin) * last_->arguments.formBytes[static_cast<int>(operand.form)];
          }
        }
      }
    }
  }
  return bytes;
}

}  // namespace tutti
