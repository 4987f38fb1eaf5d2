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

// All facts of a call but its count, in one word: compared and hashed without going through memory.
std::uint64_t keyOf(const CallDescriptor& call, bool windows) {
  return static_cast<std::uint64_t>(call.collective) | static_cast<std::uint64_t>(call.type) << 8 |
         static_cast<std::uint64_t>(call.operation) << 16 | static_cast<std::uint64_t>(windows) << 24 |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(call.root)) << 32;
}

std::size_t entryOf(std::uint64_t key, std::uint64_t count, std::size_t entries) {
  return ((key * 0xbf58476d1ce4e5b9u + count) * 0x9e3779b97f4a7c15u >> 40) % entries;
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

CallFacts Execution::factsOf(const CollectiveCall& call, bool windows) const {
  const CallDescriptor& descriptor = call.descriptor;
  return {descriptor.collective, descriptor.type, descriptor.operation, descriptor.count, nranks_, windows};
}

Status Execution::prepare() {
  const CollectiveCall& call = nextCall();
  if (call.exchange && exchangePlan_ == nullptr) {
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

Result<const Execution::Prepared*> Execution::prepared(const CollectiveCall& call, bool windows) {
  const std::uint64_t key = keyOf(call.descriptor, windows);
  Prepared& entry = prepared_[entryOf(key, call.descriptor.count, kPrepared)];
  if (entry.plan == nullptr || entry.key != key || entry.count != call.descriptor.count) [[unlikely]] {
    if (Status status = fill(entry, call, windows); !status.isOk()) {
      entry.plan = nullptr;
      return status;
    }
    entry.key = key;
    entry.count = call.descriptor.count;
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
  return Status();
}

void Execution::begin(Plan& plan, const CallArguments& arguments) {
  running_ = &plan;
  for (LaneState& lane : plan.lanes()) beginLane(lane, arguments);
}

void Execution::start() {
  current_ = 1 - current_;
  context_.suspicious = context_.abandoned = false;
  if (!outcome_.isOk()) outcome_ = Status();
  const CollectiveCall& call = calls_[current_];
  tag_ = tagOf(body_->digest, call.descriptor.registrations, call.descriptor.sequence, tag_);
  if (!call.exchange) {
    startBody(*body_);
    return;
  }
  offer_ = {call.registered ? 1u : 0u, static_cast<const std::byte*>(call.input),
            static_cast<std::byte*>(call.output)};
  exchangeArguments_ = argumentsOf(DataType::u8, Operation::sum, nranks_);
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

void Execution::startBody(const Prepared& prepared) {
  const CollectiveCall& call = calls_[current_];
  planned_ = call.descriptor.collective;
  choice_ = prepared.choice;
  plan_ = prepared.plan;
  arguments_ = prepared.arguments;
  arguments_.input = static_cast<const std::byte*>(call.input);
  arguments_.output = static_cast<std::byte*>(call.output);
  arguments_.peerInputs = peerInputs_.data();
  arguments_.peerOutputs = peerOutputs_.data();
  arguments_.tag = tag_;
  context_.kernel = prepared.kernel;
  context_.gate = prepared.plan->flat().usesWindows ? &gate_ : nullptr;
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
    startBody(*prepared(calls_[current_], true).value());  // prepare() has made it
  } else if (table_.forced.of(calls_[current_].descriptor.collective).has_value()) {
    outcome_ = statusOf(choose(table_, factsOf(calls_[current_], false)));
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

bool Execution::poll() {
  bool fired = false;
  if (!advanceLanes(fired)) return fired;
  if (phase_ == Phase::exchange)
    endExchange();
  else
    phase_ = Phase::done;
  return true;
}

std::uint64_t Execution::windowBytes() const {
  if (plan_ == nullptr || !plan_->flat().usesWindows) return 0;
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
