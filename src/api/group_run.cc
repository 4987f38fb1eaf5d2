// See group_run.h. Misuse is found before anything begins, and then nothing does; a communicator that cannot
// be used any more fails alone.
#include "api/group_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <utility>

#include "kernels/float_environment.h"

namespace tutti {
namespace {

// The calls of one communicator in a group.
struct Queue {
  Communicator* communicator;
  tuttiComm_t handle;
  std::vector<const CallRequest*> requests;
  std::size_t next = 0;
  bool gone = false;  // the handle is none any more
};

struct Failure {
  const Communicator* communicator = nullptr;
  Status status;

  void note(const Communicator& where, Status what) {
    if (what.isOk() || !status.isOk()) return;
    communicator = &where;
    status = std::move(what);
  }
};

class Run {
 public:
  // Makes room: once calls have begun, nothing may fail.
  Run(std::vector<Queue>& queues, Failure& first) : queues_(queues), first_(first) {
    live_.reserve(queues.size());
    indices_.reserve(queues.size());
    idle_.reserve(queues.size());
  }

  void complete() {
    const FloatEnvironment environment;
    for (std::size_t i = 0; i < queues_.size(); ++i) {
      if (!beginNext(i)) continue;
      live_.push_back(&queues_[i].communicator->execution());
      indices_.push_back(i);
    }
    tutti::complete(std::span<Execution*>(live_), *this);
    for (const Queue& queue : queues_) queue.communicator->awaitWindows();
  }

  void progressed(std::size_t i) { queues_[indices_[i]].communicator->progressed(); }

  bool idle(std::size_t i) {
    Communicator& communicator = *queues_[indices_[i]].communicator;
    const Waiting waiting = communicator.idle();
    if (waiting.by == Waiting::By::broken) {
      first_.note(communicator, communicator.end(false));
      return false;
    }
    waiting_ = idle_.empty() ? waiting : Waiting::leastOf(waiting_, waiting);
    idle_.push_back(&communicator.watch());
    return true;
  }

  void rest() {
    Watch::rest(idle_, waiting_);
    idle_.clear();
  }

  bool finished(std::size_t i) {
    Communicator& communicator = *queues_[indices_[i]].communicator;
    first_.note(communicator, communicator.end(true));
    return beginNext(indices_[i]);
  }

 private:
  bool beginNext(std::size_t i) {
    Queue& queue = queues_[i];
    while (queue.next < queue.requests.size()) {
      const CallRequest& request = *queue.requests[queue.next++];
      Status status = queue.communicator->mayCall();
      if (status.isOk()) status = queue.communicator->begin(request);
      if (status.isOk()) return true;
      first_.note(*queue.communicator, std::move(status));
      if (queue.communicator->isBroken()) return false;
    }
    return false;
  }

  std::vector<Queue>& queues_;
  std::vector<Execution*> live_;
  std::vector<std::size_t> indices_;  // of live executions among the queues
  std::vector<Watch*> idle_;          // those that were idle in this turn
  Waiting waiting_;                   // what all of them allow
  Failure& first_;
};

std::vector<Queue> queuesOf(const std::vector<NotedCall>& calls) {
  std::vector<Queue> queues;
  for (const NotedCall& call : calls) {
    auto queue = std::find_if(queues.begin(), queues.end(), [&](const Queue& queue) {
      return queue.communicator == call.communicator.get();
    });
    if (queue == queues.end())
      queue = queues.insert(queues.end(), {call.communicator.get(), call.communicator.handle(), {}});
    queue->requests.push_back(&call.request);
  }
  return queues;
}

// Of a communicator whose handle is none any more. An error of a call that began, not a refusal: the rest of
// the group runs.
Status gone(const Communicator& communicator) {
  if (!communicator.isBroken())
    return Status(Code::broken, "the communicator was destroyed after the group had noted calls on it");
  return Status(
      Code::broken,
      fmt::format("the communicator was aborted or destroyed after the group had noted calls on it. "
                  "First cause: {}",
                  communicator.firstCause().message()));
}

// Enters every communicator that can be entered. Answers misuse, which the group as a whole is refused for.
tuttiResult_t enterAll(const char* function, std::vector<Queue>& queues,
                       std::list<EnteredCommunicator>& entered) {
  for (Queue& queue : queues) {
    Communicator& communicator = *queue.communicator;
    if (!entered.emplace_back(queue.handle)) {
      queue.gone = !PinnedCommunicator(queue.handle);
      if (queue.gone) continue;
      return fail(function, communicator, Code::invalidUsage,
                  "nothing of the group was begun, because another thread is inside a call on this "
                  "communicator: one collective, group or other call at a time");
    }
    if (communicator.isBroken()) continue;  // not asked yet: it answers its first cause once
    const Status status = communicator.mayCall();
    if (status.code() == Code::invalidUsage)
      return fail(function, communicator, status.code(),
                  fmt::format("nothing of the group was begun, because {}", status.message()));
  }
  return tuttiSuccess;
}

// Takes out the communicators that cannot be used any more.
void removeBroken(std::vector<Queue>& queues, Failure& first) {
  std::vector<Queue> usable;
  usable.reserve(queues.size());
  for (Queue& queue : queues) {
    Communicator& communicator = *queue.communicator;
    Status status = queue.gone ? gone(communicator) : communicator.mayCall();
    if (status.isOk()) usable.push_back(std::move(queue));
    first.note(communicator, std::move(status));
  }
  queues = std::move(usable);
}

}  // namespace

tuttiResult_t runGroup(const char* function, const std::vector<NotedCall>& calls) {
  if (std::any_of(calls.begin(), calls.end(),
                  [](const NotedCall& call) { return call.forks != Process::forks(); }))
    return fail(
        function, Code::invalidArgument,
        "the group was opened by the parent of this fork, whose communicators it cannot use; nothing was "
        "begun");
  std::vector<Queue> queues = queuesOf(calls);
  std::list<EnteredCommunicator> entered;
  if (const tuttiResult_t result = enterAll(function, queues, entered); result != tuttiSuccess) return result;
  Failure first;
  removeBroken(queues, first);
  Run run(queues, first);
  try {
    run.complete();
  } catch (const std::bad_alloc&) {  // calls may have begun: the other ranks must hear of it
    for (const Queue& queue : queues) queue.communicator->breakOutOfMemory();
    for (const Queue& queue : queues) {
      first.note(*queue.communicator, queue.communicator->end(false));
      queue.communicator->awaitWindows();
    }
    return fail(function, Code::systemError, "out of memory");
  }
  if (first.status.isOk()) return tuttiSuccess;
  return fail(function, *first.communicator, first.status.code(), first.status.message());
}

}  // namespace tutti
