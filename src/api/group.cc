// See group.h.
#include "api/group.h"

#include <algorithm>
#include <list>
#include <utility>

#include "kernels/float_environment.h"

namespace tutti {
namespace {

// The calls of one communicator in a group.
struct Queue {
  Communicator* communicator;
  std::vector<const CallRequest*> requests;
  std::size_t next = 0;
};

class Run {
 public:
  explicit Run(std::vector<Queue>& queues) : queues_(queues) {}

  Status complete() {
    const FloatEnvironment environment;
    // Room first: once calls have begun, nothing may fail.
    std::vector<Execution*> live;
    live.reserve(queues_.size());
    indices_.reserve(queues_.size());
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (!beginNext(i)) continue;
      live.push_back(&queues_[i].communicator->execution());
      indices_.push_back(i);
    }
    tutti::complete(std::span<Execution*>(live), *this);
    return first_;
  }

  void progressed(std::size_t i) { queues_[indices_[i]].communicator->progressed(); }

  bool idle(std::size_t i) {
    Communicator& communicator = *queues_[indices_[i]].communicator;
    if (communicator.idle()) return true;
    note(communicator.finish(false));
    return false;
  }

  bool finished(std::size_t i) {
    note(queues_[indices_[i]].communicator->finish(true));
    return beginNext(indices_[i]);
  }

 private:
  bool beginNext(std::size_t i) {
    Queue& queue = queues_[i];
    while (queue.next < queue.requests.size()) {
      Status status = queue.communicator->begin(*queue.requests[queue.next++]);
      if (status.isOk()) return true;
      note(std::move(status));
      if (queue.communicator->isBroken()) return false;
    }
    return false;
  }

  void note(Status status) {
    if (!status.isOk() && first_.isOk()) first_ = std::move(status);
  }

  std::vector<Queue>& queues_;
  std::vector<std::size_t> indices_;  // of live executions among the queues
  Status first_;
};

}  // namespace

constinit thread_local int Group::depth_ = 0;

Group& Group::ofThisThread() {
  static thread_local Group group;
  return group;
}

bool Group::holds(const Communicator& communicator) const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [&](const Pending& call) { return call.communicator.get() == &communicator; });
}

void Group::add(PinnedCommunicator communicator, const CallRequest& request) {
  calls_.push_back({std::move(communicator), request, Process::forks()});
}

void Group::refuse(const Status& status) {
  if (refusal_.isOk()) refusal_ = status;
}

Status Group::close() {
  if (depth_ == 0)
    return Status(Code::invalidUsage,
                  "no group is open in this thread: tuttiGroupStart comes before tuttiGroupEnd");
  if (--depth_ != 0) return Status();
  std::vector<Pending> calls = std::move(calls_);
  calls_.clear();
  Status refusal = std::exchange(refusal_, Status());
  if (!refusal.isOk())
    return Status(refusal.code(),
                  "nothing of the group was begun, because a call in it was refused: " + refusal.message());
  return runAll(calls);
}

Status Group::runAll(std::vector<Pending>& calls) {
  std::vector<Queue> queues;
  for (const Pending& call : calls) {
    if (call.forks != Process::forks())
      return Status(
          Code::invalidArgument,
          "the group was opened by the parent of this fork, whose communicators it cannot use; nothing was "
          "begun");
    auto queue = std::find_if(queues.begin(), queues.end(), [&](const Queue& queue) {
      return queue.communicator == call.communicator.get();
    });
    if (queue == queues.end()) queue = queues.insert(queues.end(), {call.communicator.get(), {}, 0});
    queue->requests.push_back(&call.request);
  }
  std::list<Communicator::Entered> entered;
  for (const Queue& queue : queues) {
    if (!entered.emplace_back(*queue.communicator))
      return Status(Code::invalidUsage,
                    "another thread is using a communicator of this group; nothing was begun");
  }
  for (const Queue& queue : queues) TUTTI_TRY(queue.communicator->mayCall());
  try {
    return Run(queues).complete();
  } catch (const std::bad_alloc&) {  // calls may have begun: the other ranks must hear of it
    for (const Queue& queue : queues) queue.communicator->breakOutOfMemory();
    return Status::outOfMemory();
  }
}

}  // namespace tutti
