// Runs calls. An Execution is one rank's call in progress: it is polled, fires what can be fired, and never
// waits; complete() polls several of them, of several ranks and communicators, until all are done.
//
// On a communicator with registrations a call first exchanges, by a schedule of its own, whether and where
// each rank's buffers can be reached directly; then it runs on windows if all said yes, and on slots
// otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/bell.h"
#include "base/call_descriptor.h"
#include "base/window_gate.h"
#include "collectives/host_context.h"
#include "collectives/plan.h"
#include "collectives/short_call.h"

namespace tutti {

struct CollectiveCall {
  CallDescriptor descriptor;
  const void* input = nullptr;
  void* output = nullptr;
  bool registered = false;  // this rank's buffers of this call lie in registered memory
  bool exchange = false;    // it has registrations and the call wants windows: the same on all ranks
};

// What the exchange carries; fits one line. Places are counted from where the rank's windows begin.
struct WindowOffer {
  std::uint64_t registered = 0;
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};

class Execution {
 public:
  // `bells`: of those that may sleep until this rank has something for them. `windows`: where this process sees the
  // memory that the windows of each rank lie in; empty when all ranks see the same addresses.
  Execution(int rank, int nranks, Planner& planner, const PlanTable& table, WindowGate gate,
            const Bells& bells = {}, std::span<const std::span<std::byte>> windows = {});

  // Steps on windows that touch as many bytes write past the caches (streaming.h); until it is called, none.
  void streamFrom(std::uint64_t bytes) { context_.streamFrom = bytes; }

  // Finds or makes the plan of a call; nothing moves yet. After a failure the execution is as before. Then start(), of
  // the same call.
  Status prepare(const CollectiveCall& call);
  // True: an equal call was prepared before, and no more is to be done. Of a call without exchange.
  [[gnu::always_inline]] bool isPrepared(const CallDescriptor& call) {
    const std::uint64_t key = call.kind();
    body_ = &entryOf(key, call.count);
    return body_->isOf(key, call.count);
  }
  [[gnu::always_inline]] void start(const CollectiveCall& call) {
    call_ = call;
    context_.suspicious = context_.abandoned = false;
    tag_ = tagOf(body_->digest, call.descriptor.registrations, call.descriptor.sequence, tag_);
    if (body_->brief == nullptr || call.exchange || !outcome_.isOk()) [[unlikely]]
      return startLong();
    startBrief(*body_);
  }

  // Fires all steps that can fire now; true if there were any.
  // On windows only as long as the communicator is not broken.
  [[gnu::always_inline]] bool poll() {
    if (brief_ == nullptr) return pollLanes();
    bool fired = false;
    if (brief_->advance(context_, fired)) phase_ = Phase::done;
    if (fired && bells_.anybodySleeps()) [[unlikely]]
      ringPeers();
    return fired;
  }
  bool isDone() const { return phase_ == Phase::done; }

  // A message of another call was met since the last start().
  bool isSuspicious() const { return context_.suspicious; }

  // How the call ended. A failure when the exchange showed that a forced algorithm cannot serve it, on all ranks; on this
  // rank alone, which has to tell the others, an internal error when a peer offered what is no memory of its own, and a
  // system error when memory ran out.
  const Status& outcome() const { return outcome_; }

  // Of the last call that was started.
  const CollectiveCall& call() const { return call_; }
  // Of the last call whose data moved; plan() is null before the first.
  const Plan* plan() const { return last_->plan; }
  const Choice& choice() const { return last_->choice; }
  const Cut& cut() const { return last_->arguments.cut; }
  CallCounts counts() const;
  // In messages by the whole call.
  std::uint64_t bytesSentTo(const std::function<bool(int peer)>& counts) const;
  std::uint64_t windowBytes() const;  // read from and written to peers' memory by this rank

 private:
  enum class Phase : std::uint8_t { exchange, body, done };

  // All that follows from the shared facts of a call: choice, plan, cut, kernel. Kept, because programs
  // repeat calls.
  struct Prepared {
    std::uint64_t key = 0;  // with the count: the facts that it follows from
    std::uint64_t count = 0;
    Choice choice;
    Plan* plan = nullptr;  // null: an empty entry
    std::uint64_t digest = 0;
    ReduceCopyFunction kernel = nullptr;
    CallArguments arguments;           // without brief: buffers and tag are the last call's
    std::unique_ptr<ShortCall> brief;  // what runs instead, if the call is short

    bool isOf(std::uint64_t otherKey, std::uint64_t otherCount) const {
      return key == otherKey && count == otherCount && plan != nullptr;
    }
  };
  static constexpr std::size_t kPrepared = 64;

  // All facts of a call but its count, in one word: compared and hashed without going through memory.
  static std::uint64_t keyOf(const CallDescriptor& call, bool windows) {
    return call.kind() | static_cast<std::uint64_t>(windows) << 24;
  }
  Prepared& entryOf(std::uint64_t key, std::uint64_t count) {
    return prepared_[((key * 0xbf58476d1ce4e5b9u + count) * 0x9e3779b97f4a7c15u >> 40) % kPrepared];
  }

  CallFacts factsOf(const CollectiveCall& call, bool windows) const;
  Result<Prepared*> prepared(const CollectiveCall& call, bool windows);
  Status fill(Prepared& entry, const CollectiveCall& call, bool windows);
  void startLong();
  void startExchange();
  void startBody(Prepared& prepared);
  [[gnu::always_inline]] void startBrief(Prepared& prepared) {
    last_ = &prepared;
    running_ = prepared.plan;
    brief_ = prepared.brief.get();
    context_.kernel = prepared.kernel;
    phase_ = Phase::body;
    brief_->begin(call_.input, call_.output, tag_);
  }
  bool pollLanes();
  bool advanceLanes(bool& fired);
  void ringPeers() const noexcept;
  void begin(Plan& plan, const CallArguments& arguments);
  void endExchange();
  void actOnOffers();
  bool isWithin(const WindowOffer& offer, int rank) const;
  std::uintptr_t windowBase(int rank) const {
    return windows_.empty()
               ? 0
               : reinterpret_cast<std::uintptr_t>(windows_[static_cast<std::size_t>(rank)].data());
  }

  const int rank_;
  const int nranks_;
  Planner& planner_;
  const PlanTable& table_;
  WindowGate gate_;
  const Bells bells_;
  const std::vector<std::span<std::byte>> windows_;
  HostContext context_;
  ReduceCopyFunction copyBytes_;

  CollectiveCall call_;    // of the last start()
  std::uint32_t tag_ = 0;  // of the last start()
  std::vector<Prepared> prepared_;
  std::uint64_t shapes_ = 0;  // given out, see CallArguments::shape
  Prepared* body_ = nullptr;  // of the call; with an exchange, the one without windows until all said yes
  Prepared replaced_;         // what last_ was, when its entry is another's by now
  const Prepared* last_ = &replaced_;
  Plan* exchangePlan_ = nullptr;
  Plan* running_ = nullptr;
  ShortCall* brief_ = nullptr;  // what runs, instead of the plan's lanes
  Phase phase_ = Phase::done;
  Status outcome_;

  CallArguments exchangeArguments_;
  WindowOffer offer_;
  std::vector<WindowOffer> offers_;
  std::vector<const std::byte*> peerInputs_;
  std::vector<std::byte*> peerOutputs_;
};

// Polls until all are done. `events` hears, by the execution's place in the list:
//   progressed(i)  it has fired
//   finished(i)    it is done; true: a new call was begun on it
//   idle(i)        nothing fired in a whole turn and it is not done; false: it is not polled again
//   rest()         then, when all have been asked: the thread may give its core away
template <class Events>
void complete(std::span<Execution*> executions, Events& events) {
  std::size_t left = executions.size();
  while (left != 0) {
    bool fired = false;
    for (std::size_t i = 0; i < executions.size(); ++i) {
      if (executions[i] == nullptr || !executions[i]->poll()) continue;
      fired = true;
      if (!executions[i]->isDone()) {
        events.progressed(i);
      } else if (!events.finished(i)) {
        executions[i] = nullptr;
        --left;
      }
    }
    if (fired) continue;
    for (std::size_t i = 0; i < executions.size(); ++i) {
      if (executions[i] == nullptr || events.idle(i)) continue;
      executions[i] = nullptr;
      --left;
    }
    if (left != 0) events.rest();
  }
}

}  // namespace tutti
