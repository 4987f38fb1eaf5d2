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

}  // namespace

void declineInits(std::span<const NotedInit> inits, const Status& why) {
  for (const NotedInit& init : inits) {
    if (init.forks == Process::forks()) decline(init.id, init.nranks, init.rank, why, init.settings);
  }
}

Status runInits(const std::vector<NotedInit>& inits) {
  if (std::any_of(inits.begin(), inits.end(),
                  [](const NotedInit& init) { return init.forks != Process::forks(); }))
    return Status(Code::invalidUsage, "the group was begun before a fork: a child has no part in it");
  // Each waits for the others, so each has a thread; those that cannot have one tell their peers.
  std::vector<Joined> joined(inits.size());
  std::vector<std::thread> threads;
  Status noThread;
  for (std::size_t i = 1; i < inits.size(); ++i) {
    try {
      threads.emplace_back([&joined, &inits, i] { joined[i] = join(inits[i]); });
    } catch (const std::system_error& error) {
      noThread = Status(Code::systemError, fmt::format("no thread to join with: {}. Allow more (ulimit -u)",
                                                       error.code().message()));
      declineInits(std::span(inits).subspan(i), noThread);
      break;
    }
  }
  if (!inits.empty()) joined[0] = join(inits[0]);
  for (std::thread& thread : threads) thread.join();
  TUTTI_TRY(noThread);
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<tuttiComm_t*> places;
  for (std::size_t i = 0; i < inits.size(); ++i) {
    if (!joined[i].status.isOk())
      return Status(joined[i].status.code(), fmt::format("tuttiCommInitRank of rank {}: {}", inits[i].rank,
                                                         joined[i].status.message()));
    communicators.push_back(std::move(joined[i].communicator));
    places.push_back(inits[i].comm);
  }
  return publish(std::move(communicators), places);
}

}  // namespace tutti
