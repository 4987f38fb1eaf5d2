// See group_init.h.
#include "api/group_init.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "api/join.h"
#include "api/process.h"
#include "api/publish.h"
#include "base/quiet_thread.h"

namespace tutti {
namespace {

// For a group to tell the processes of its ids, some of which may stand still.
constexpr std::chrono::milliseconds kTelling{5000};

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

// With the words of join().
Status failureOf(const NotedInit& init, const Status& why) noexcept {
  try {
    return Status(why.code(), fmt::format("tuttiCommInitRank of rank {}: {}", init.rank, why.message()));
  } catch (const std::bad_alloc&) {
    return Status::outOfMemory();
  }
}

}  // namespace

// All tellings together take no longer than one alone: each has its share of the time that is left.
void declineInits(std::span<const NotedInit> inits, const Status& why) noexcept {
  const auto endOfTelling = std::chrono::steady_clock::now() + kTelling;
  for (auto left = inits; !left.empty(); left = left.subspan(1)) {
    const NotedInit& init = left.front();
    if (init.forks != Process::forks()) continue;
    const auto share = std::chrono::duration_cast<std::chrono::milliseconds>(
        (endOfTelling - std::chrono::steady_clock::now()) / static_cast<int>(left.size()));
    tellDecline(init.id, init.nranks, init.rank, why, std::min(share, init.settings.initTimeout));
  }
  const auto end = endOfHearing();
  for (const NotedInit& init : inits) {
    if (init.forks == Process::forks()) awaitHearing(init.id, end);
  }
}

Status runInits(std::span<const NotedInit> inits) {
  std::vector<Joined> joined;
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<tuttiComm_t*> places;
  Status failure;
  try {
    if (std::any_of(inits.begin(), inits.end(),
                    [](const NotedInit& init) { return init.forks != Process::forks(); }))
      failure = Status(Code::invalidUsage, "the group was begun before a fork: a child has no part in it");
    joined.resize(inits.size());
    threads.reserve(inits.size());
    communicators.reserve(inits.size());
    places.reserve(inits.size());
  } catch (const std::bad_alloc&) {
    failure = Status::outOfMemory();
  }
  if (!failure.isOk()) {
    declineInits(inits, failure);
    return failure;
  }
  // Each waits for the others, so each has a thread; those that cannot have one tell their peers.
  for (std::size_t i = 1; failure.isOk() && i < inits.size(); ++i) {
    failure = start(threads, [&joined, inits, i] { joined[i] = join(inits[i]); });
    if (!failure.isOk()) declineInits(inits.subspan(i), failure);
  }
  if (!inits.empty()) joined[0] = join(inits[0]);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < inits.size(); ++i) {
    communicators.push_back(std::move(joined[i].communicator));
    places.push_back(inits[i].comm);
    if (failure.isOk() && !joined[i].status.isOk()) failure = failureOf(inits[i], joined[i].status);
  }
  if (failure.isOk()) return publish(std::move(communicators), places);
  giveUp(communicators, failure);
  return failure;
}

}  // namespace tutti
