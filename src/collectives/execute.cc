// See execute.h. The choice of a call is made from facts that all ranks share; what one rank alone knows (in
// place, alignment) never enters it.
#include "collectives/execute.h"

#include <utility>

namespace tutti {
namespace {

CallArguments argumentsOf(DataType type, Operation operation, int nranks) {
  CallArguments arguments;
  arguments.reduction = {type, operation, static_cast<std::uint32_t>(nranks)};
  for (const Form form : {Form::raw, Form::partial, Form::result})
    arguments.formBytes[static_cast<int>(form)] = static_cast<std::uint32_t>(bytesOf(type, operation, form));
  return arguments;
}

bool same(const CallFacts& a, const CallFacts& b) {
  return a.count == b.count && a.collective == b.collective && a.type == b.type &&
         a.operation == b.operation && a.windows == b.windows;
}

std::size_t entryOf(const CallFacts& facts, int root, std::size_t entries) {
  std::uint64_t hash = facts.count * 0x9e3779b97f4a7c15u;
  hash ^= static_cast<std::uint64_t>(facts.collective) << 1 ^ static_cast<std::uint64_t>(facts.type) << 4 ^
          static_cast<std::uint64_t>(facts.operation) << 8 ^ static_cast<std::uint64_t>(root) << 11 ^
          static_cast<std::uint64_t>(facts.windows);
  hash *= 0xbf58476d1ce4e5b9u;
  return (hash >> 40) % entries;
}

}  // namespace

Execution::Execution(int rank, int nranks, Planner& planner, const PlanTable& table, WindowGate gate)
    : rank_(rank),
      nranks_(nranks),
      planner_(planner),
      table_(table),
      gate_(gate),
      copyBytes_(reduceCopyFor(DataType::u8, Operation::sum)),
      prepared_(kPrepared),
      offers_(static_cast<std::size_t>(nranks)),
      peerInputs_(static_cast<std::size_t>(nranks)),
      peerOutputs_(static_cast<std::size_t>(nranks)) {}

CallFacts Execution::facts() const {
  const CallDescriptor& call = call_.descriptor;
  return {call.collective, call.type, call.operation, call.count, nranks_, false};
}

Status Execution::prepare(const CollectiveCall& call) {
  const CollectiveCall before = std::exchange(call_, call);
  Status status = prepareBody();
  if (!status.isOk()) call_ = before;
  return status;
}

Status Execution::prepareBody() {
  const CollectiveCall& call = call_;
  context_.suspicious = false;
  if (!outcome_.isOk()) outcome_ = Status();
  if (call.exchange && exchangePlan_ == nullptr) {
    const Choice lines{Algorithm::oneShot, MailboxFormat::lines, 1, 0, "exchange of windows"};
    const auto plan = planner_.planFor(Collective::allGather, 0, lines);
    if (!plan.isOk()) return plan.status();
    exchangePlan_ = plan.value();
  }
  // Both ways are prepared before an exchange, so that nothing can fail once it has begun.
  const bool onlyWindows = call.exchange && table_.forced.of(call.descriptor.collective).has_value();
  if (call.exchange) TUTTI_TRY(statusOf(prepared(true)));
  const auto body = prepared(onlyWindows);
  if (!body.isOk()) return body.status();
  body_ = body.value();
  return Status();
}

Result<const Execution::Prepared*> Execution::prepared(bool windows) {
  CallFacts facts = this->facts();
  facts.windows = windows;
  const int root = call_.descriptor.root;
  Prepared& entry = prepared_[entryOf(facts, root, kPrepared)];
  if (entry.plan == nullptr || entry.root != root || !same(entry.facts, facts)) {
    if (Status status = fill(entry, facts, root); !status.isOk()) {
      entry.plan = nullptr;
      return status;
    }
  }
  return &entry;
}

Status Execution::fill(Prepared& entry, const CallFacts& facts, int root) {
  const auto choice = choose(table_, facts);
  if (!choice.isOk()) return choice.status();
  const auto plan = planner_.planFor(facts.collective, root, choice.value());
  if (!plan.isOk()) return plan.status();
  entry.facts = facts;
  entry.root = root;
  entry.choice = choice.value();
  entry.plan = plan.value();
  entry.kernel = reduceCopyFor(facts.type, facts.operation);
  entry.arguments = argumentsOf(facts.type, facts.operation, nranks_);
  const auto cut = plan.value()->cut(facts.count, entry.arguments.formBytes, entry.choice.slotBytes);
  if (!cut.isOk()) return cut.status();
  entry.arguments.cut = cut.value();
  return Status();
}

void Execution::begin(Plan& plan, const CallArguments& arguments) {
  running_ = &plan;
  for (LaneState& lane : plan.lanes()) beginLane(lane, arguments);
}

void Execution::start() {
  if (!call_.exchange) {
    startBody(*body_);
    return;
  }
  offer_ = {call_.registered ? 1u : 0u, static_cast<const std::byte*>(call_.input),
            static_cast<std::byte*>(call_.output)};
  exchangeArguments_ = argumentsOf(DataType::u8, Operation::sum, nranks_);
  exchangeArguments_.input = reinterpret_cast<const std::byte*>(&offer_);
  exchangeArguments_.output = reinterpret_cast<std::byte*>(offers_.data());
  exchangeArguments_.tag = call_.tag;
  exchangeArguments_.cut =
      makeCut(sizeof(WindowOffer), static_cast<std::uint32_t>(exchangePlan_->flat().blocksPerSegment), 0, 1);
  context_.kernel = copyBytes_;
  phase_ = Phase::exchange;
  begin(*exchangePlan_, exchangeArguments_);
}

void Execution::startBody(const Prepared& prepared) {
  choice_ = prepared.choice;
  plan_ = prepared.plan;
  arguments_ = prepared.arguments;
  arguments_.input = static_cast<const std::byte*>(call_.input);
  arguments_.output = static_cast<std::byte*>(call_.output);
  arguments_.peerInputs = peerInputs_.data();
  arguments_.peerOutputs = peerOutputs_.data();
  arguments_.tag = call_.tag;
  context_.kernel = prepared.kernel;
  phase_ = Phase::body;
  begin(*prepared.plan, arguments_);
}

// All ranks see the same offers, hence go the same way.
void Execution::endExchange() {
  bool all = true;
  for (int rank = 0; rank < nranks_; ++rank) {
    const WindowOffer& offer = offers_[static_cast<std::size_t>(rank)];
    all &= offer.registered != 0;
    peerInputs_[static_cast<std::size_t>(rank)] = offer.input;
    peerOutputs_[static_cast<std::size_t>(rank)] = offer.output;
  }
  if (all) {
    startBody(*prepared(true).value());  // prepare() has made it
  } else if (table_.forced.of(call_.descriptor.collective).has_value()) {
    CallFacts facts = this->facts();
    outcome_ = statusOf(choose(table_, facts));
    phase_ = Phase::done;
  } else {
    startBody(*body_);
  }
}

bool Execution::advanceLanes() {
  bool fired = false;
  for (LaneState& lane : running_->lanes()) {
    while (advance(context_, lane)) fired = true;
  }
  return fired;
}

bool Execution::poll() {
  bool fired = false;
  if (running_->flat().usesWindows) {
    if (!gate_.enter()) return false;
    fired = advanceLanes();
    gate_.leave();
  } else {
    fired = advanceLanes();
  }
  bool done = true;
  for (const LaneState& lane : running_->lanes()) done &= lane.done;
  if (done) {
    fired = true;
    if (phase_ == Phase::exchange)
      endExchange();
    else
      phase_ = Phase::done;
  }
  return fired;
}

std::uint64_t Execution::windowBytes() const {
  if (plan_ == nullptr) return 0;
  std::uint64_t bytes = 0;
  for (const FlatLane& lane : plan_->flat().lanes) {
    for (std::uint32_t round = 0; round < arguments_.cut.rounds; ++round) {
      const RoundCut cut = roundOf(arguments_.cut, round);
      for (std::uint32_t s = 0; s < lane.program.nsteps; ++s) {
        const FlatStep& step = lane.program.steps[s];
        for (std::uint32_t r = 0; r < step.nruns; ++r) {
          const FlatRun& run = lane.program.runs[step.firstRun + r];
          const Extent extent = extentOf(cut, run.subBlock, run.nsubBlocks);
          for (std::uint32_t i = 0; i < std::uint32_t{step.nsources} + step.ndestinations; ++i) {
            const FlatOperand& operand = lane.program.operands[run.firstOperand + i];
            if (operand.where == Where::peerInput || operand.where == Where::peerOutput)
              bytes += (extent.end - extent.begin) * arguments_.formBytes[static_cast<int>(operand.form)];
          }
        }
      }
    }
  }
  return bytes;
}

}  // namespace tutti
