// The slow sides of a call, and what is asked besides. The main path is in communicator.h: run() -> Execution
// (collectives/execute.h) -> ShortCall, or advance (kernels/advance-inl.h) -> kernel.
#include "api/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "api/process.h"
#include "kernels/float_environment.h"

namespace tutti {
namespace {

PlanTable tableOf(const RankGroup& group) {
  return {group.settings.forced, group.linkOptions.lineBytes, group.linkOptions.slotBytes};
}

}  // namespace

Communicator::Communicator(std::shared_ptr<RankGroup> group, int rank, const Log& log)
    : group_(std::move(group)),
      rank_(rank),
      log_(log),
      board_(group_->rollCall.board(rank)),
      links_(group_->linksOf(rank)),
      table_(tableOf(*group_)),
      planner_(rank, group_->nranks, *links_),
      execution_(rank, group_->nranks, planner_, table_,
                 {group_->ranks.windowUse(rank), group_->rollCall.poisonWord()}, group_->rollCall.bells(),
                 group_->windows()),
      watch_(group_->rollCall, rank, {&group_->cores, group_->settings.timeout}) {
  execution_.streamFrom(group_->streamFrom);
}

Communicator::~Communicator() {
  watch_.end();
  board_.leave();
  group_->end(rank_, *links_);
}

Status Communicator::broken() {
  const bool first = !reported_ && !aborted_.load(std::memory_order_relaxed);
  reported_ = true;
  try {
    Status cause = firstCause();
    if (first) return cause;
    return Status(Code::broken,
                  fmt::format("the communicator is broken and cannot be used any more. First cause: {}. "
                              "Destroy it and build a new one",
                              cause.message()));
  } catch (const std::bad_alloc&) {
    return Status::outOfMemory();
  }
}

Waiting Communicator::waitingNow() noexcept {
  try {
    return watch_.idle(execution_.call().descriptor, execution_.isSuspicious());
  } catch (const std::bad_alloc&) {
    breakOutOfMemory();
    return {.by = Waiting::By::broken};
  }
}

Status Communicator::mayNotCall() {
  if (isBroken()) return broken();
  return Status(Code::invalidUsage,
                "the communicator was finalized; the only thing left to do is tuttiCommDestroy");
}

Status Communicator::admits(const CallRequest& request) const {
  CallFacts facts{request.collective, request.type, request.operation, request.count, nranks(), false};
  facts.windows = registrationCalls_.load(std::memory_order_relaxed) != 0 && wantsWindows(table_, facts);
  return statusOf(choose(table_, facts));
}

bool Communicator::isRegistered(const CollectiveCall& call) const {
  const auto covered = [this](const void* data, std::uint64_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    return bytes == 0 ||
           std::any_of(registrations_.begin(), registrations_.end(), [&](const Registration& range) {
             return range.begin <= begin && begin + bytes <= range.end;
           });
  };
  return covered(call.input, inputBytesOf(call.descriptor, rank_, nranks())) &&
         covered(call.output, outputBytesOf(call.descriptor, rank_, nranks()));
}

Status Communicator::beginWithCare(CollectiveCall call) {
  if (call.descriptor.registrations != 0) {
    const CallDescriptor& facts = call.descriptor;
    call.exchange =
        wantsWindows(table_, {facts.collective, facts.type, facts.operation, facts.count, nranks(), false});
    call.registered = call.exchange && isRegistered(call);
  }
  if (call.exchange || !execution_.isPrepared(call.descriptor)) TUTTI_TRY(prepare(call));
  start(call);
  return Status();
}

// A refusal is the same on every rank; running out of memory is this rank's alone, and the others must hear
// of it.
Status Communicator::prepare(const CollectiveCall& call) {
  if (sequence_ == 0) group_->cores.addThisThread();
  try {
    Status status = execution_.prepare(call);
    if (status.isOk() || status.code() == Code::invalidArgument || status.code() == Code::notSupported)
      return status;
    group_->rollCall.breakWith(Status(
        status.code(), fmt::format("rank {}, {}: {}", rank_, describe(call.descriptor), status.message())));
  } catch (const std::bad_alloc&) {
    breakOutOfMemory();
  }
  return broken();
}

// What this rank alone has found breaks the communicator; what all have found, as that a forced algorithm cannot serve
// the call, does not.
Status Communicator::endFailed() {
  const Status& outcome = execution_.outcome();
  if (outcome.code() != Code::internalError && outcome.code() != Code::systemError) return outcome;
  try {
    group_->rollCall.breakWith(Status(
        outcome.code(),
        fmt::format("rank {}, {}: {}", rank_, describe(execution_.call().descriptor), outcome.message())));
  } catch (const std::bad_alloc&) {
    breakOutOfMemory();
  }
  return endBroken();
}

Status Communicator::endBroken() {
  if (execution_.call().registered && !leftWindows_) leftWindows_ = std::chrono::steady_clock::now();
  return broken();
}

void Communicator::awaitWindows() noexcept {
  if (leftWindows_) group_->awaitWindows(rank_, *leftWindows_);
  leftWindows_.reset();
}

Status Communicator::complete() {
  const FloatEnvironment environment;
  for (;;) {
    if (execution_.poll()) {
      if (execution_.isDone()) return finish(true);
      progressed();
    } else if (const Waiting waiting = idle(); waiting.by != Waiting::By::spinning) {
      if (waiting.by == Waiting::By::broken) return finish(false);
      Watch* const mine = &watch_;
      Watch::rest({&mine, 1}, waiting);
    }
  }
}

Status Communicator::registerMemory(const void* buffer, std::size_t bytes, void** handle) {
  TUTTI_TRY(mayCall());
  const auto* begin = static_cast<const std::byte*>(buffer);
  const std::uint64_t number =
      Process::get().nextNumber() + 1;  // never used again, nor by another communicator
  const bool isWindow = group_->canBeWindow(begin, bytes);
  if (isWindow) registrations_.push_back({begin, begin + bytes, number});
  registrationCalls_.fetch_add(1, std::memory_order_relaxed);
  *handle = isWindow ? reinterpret_cast<void*>(number) : nullptr;
  if (isWindow) return Status();
  tellOfUnregisteredMemory(log_, label());
  return Status(
      Code::notSupported,
      "other processes cannot reach this memory, so it is used through slots as before: take memory of "
      "tuttiMemAlloc to have it registered");
}

Status Communicator::deregisterMemory(void* handle) {
  const auto found = std::find_if(
      registrations_.begin(), registrations_.end(),
      [handle](const Registration& range) { return reinterpret_cast<void*>(range.number) == handle; });
  if (found == registrations_.end())
    return Status(Code::invalidArgument,
                  "the handle is not a registration of this communicator, or was deregistered before");
  registrations_.erase(found);
  return Status();
}

Status Communicator::finalize() {
  // Not a call that could have met the first cause: "broken" even now. But a mismatch may be the last call's.
  if (isBroken() && asyncError() != Code::mismatch) reported_ = true;
  TUTTI_TRY(mayCall());
  finalized_ = true;
  if (sequence_ != 0) group_->rollCall.compareLast(execution_.call().descriptor);
  board_.leave();
  return isBroken() ? broken() : Status();
}

Status Communicator::lastPlan(tuttiPlan_t& plan) const {
  if (execution_.plan() == nullptr)
    return Status(Code::invalidUsage,
                  "no collective has run on this communicator yet, so there is no last plan");
  const Choice& choice = execution_.choice();
  const auto write = [](char* to, std::size_t room, const char* text) {
    std::strncpy(to, text, room - 1);
    to[room - 1] = '\0';
  };
  write(plan.collective, sizeof(plan.collective), settingNameOf(execution_.plan()->request().collective));
  write(plan.algorithm, sizeof(plan.algorithm), settingNameOf(choice.algorithm));
  const bool window = choice.algorithm == Algorithm::twoShotWindow;
  write(plan.protocol, sizeof(plan.protocol),
        window                                  ? "window"
        : choice.format == MailboxFormat::lines ? "lines"
                                                : "slots");
  write(plan.reason, sizeof(plan.reason), choice.reason);
  plan.channels = choice.channels;
  plan.rounds = static_cast<int>(execution_.cut().rounds);
  const CallCounts counts = execution_.counts();
  plan.steps = counts.steps;
  plan.messages = counts.messages;
  plan.inProcessBytes = execution_.bytesSentTo([this](int peer) { return group_->isInThisProcess(peer); });
  plan.directBytes = execution_.bytesSentTo([this](int peer) { return !group_->isInThisProcess(peer); });
  plan.relayedBytes = 0;
  plan.windowBytes = execution_.windowBytes();
  return Status();
}

void Communicator::abort() noexcept {
  aborted_.store(true, std::memory_order_relaxed);
  try {
    group_->rollCall.breakWith(
        Status(Code::remoteError, fmt::format("rank {} called tuttiCommAbort", rank_)));
  } catch (const std::bad_alloc&) {
    breakOutOfMemory();
  }
}

void Communicator::giveUp(const Status& why) noexcept {
  try {
    group_->rollCall.breakWith(Status(
        Code::remoteError, fmt::format("rank {} has no communicator after all: {}", rank_, why.message())));
  } catch (const std::bad_alloc&) {
    breakOutOfMemory();
  }
}

Code Communicator::asyncError() const {
  return group_->rollCall.code();
}

}  // namespace tutti
