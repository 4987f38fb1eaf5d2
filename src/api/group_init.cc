// See group_init.h.
#include "api/group_init.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "api/join.h"
#include "api/process.h"
#include "api/publish.h"
#include "base/quiet_thread.h"

namespace tutti {
namespace {

struct Joined {
  std::unique_ptr<Communicator> communicator;
  Status status;
};

Joined join(const NotedInit& init) {
  try {
    auto communicator = joinCommunicator(init.id, init.nranks, init.rank, init.settings);
    if (!communicator.isOk()) return {nullptr, communicator.status()};
    return {std::move(communicator).value(), Status()};
  } catch (const std::bad_alloc&) {
    return {nullptr, Status::outOfMemory()};
  }
}

// `threads` has room for one more.
template <class Body>
Status start(std::vector<std::thread>& threads, const Body& body) noexcept {
  try {
    threads.push_back(quietThread(body));
    return Status();
  } catch (const std::system_error& error) {
    try {
      return Status(Code::systemError, fmt::format("no thread to join with: {}. Allow more (ulimit -u)",
                                                   error.code().message()));
    } catch (const std::bad_alloc&) {
    }
  } catch (const std::bad_alloc&) {
  }
  return Status::outOfMemory();
}

// As far as there is memory for it, while threads are at work that have to be joined.
void declineAll(std::span<const NotedInit> inits, const Status& why) noexcept {
  try {
    declineInits(inits, why);
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace

void declineInits(std::span<const NotedInit> inits, const Status& why) {
  for (const NotedInit& init : inits) {
    if (init.forks == Process::forks()) tellDecline(init.id, init.nranks, init.rank, why, init.settings);
  }
  const auto end = endOfHearing();
  for (const NotedInit& init : inits) {
    if (init.forks == Process::forks()) awaitHearing(init.id, end);
  }
}

Status runInits(const std::vector<NotedInit>& inits) {
  if (std::any_of(inits.begin(), inits.end(),
                  [](const NotedInit& init) { return init.forks != Process::forks(); }))
    return Status(Code::invalidUsage, "the group was begun before a fork: a child has no part in it");
  // Each waits for the others, so each has a thread; those that cannot have one tell their peers.
  std::vector<Joined> joined(inits.size());
  std::vector<std::thread> threads;
  threads.reserve(inits.size());
  std::vector<std::unique_ptr<Communicator>> communicators;
  communicators.reserve(inits.size());
  std::vector<tuttiComm_t*> places;
  places.reserve(inits.size());
  Status noThread;
  for (std::size_t i = 1; i < inits.size(); ++i) {
    noThread = start(threads, [&joined, &inits, i] { joined[i] = join(inits[i]); });
    if (noThread.isOk()) continue;
    declineAll(std::span(inits).subspan(i), noThread);
    break;
  }
  if (!inits.empty()) joined[0] = join(inits[0]);
  for (std::thread& thread : threads) thread.join();
  Status failure = noThread;
  for (std::size_t i = 0; i < inits.size(); ++i) {
    communicators.push_back(std::move(joined[i].communicator));
    places.push_back(inits[i].comm);
    if (failure.isOk() && !joined[i].status.isOk())
      failure = Status(joined[i].status.code(), fmt::format("tuttiCommInitRank of rank {}: {}", inits[i].rank,
                                                            joined[i].status.message()));
  }
  if (failure.isOk()) return publish(std::move(communicators), places);
  giveUp(communicators, failure);
  return failure;
}

}  // namespace tutti
