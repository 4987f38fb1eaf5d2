// Rank threads that sleep on a condition variable between jobs; no lock is taken inside a job.
#include "ranks.h"

#include "output.h"

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>

namespace tutti::bench {
namespace {

Outcome outcomeOfJob(const std::function<Outcome(int rank)>& job, int rank) {
  try {
    return job(rank);
  } catch (const std::exception& error) {
    return Failure{rank, tuttiSystemError, wordsFor(error)};
  }
}

}  // namespace

// After the delegated constructor the object is whole: what throws here is followed by the destructor, which
// ends the threads that there are.
Ranks::Ranks(Launch& launch, int threads)
    : Ranks(launch, std::vector<tuttiComm_t>(static_cast<std::size_t>(threads))) {
  for (int rank = first(); rank < first() + here(); rank++) {
    try {
      threads_.emplace_back([this, rank] { serve(rank); });
    } catch (const std::system_error& error) {
      throw std::runtime_error(fmt::format(
          "no thread for rank {} of {}: {}; use fewer ranks (-t), or allow more threads and address "
          "space (ulimit -u, ulimit -v)",
          rank, count(), error.code().message()));
    }
  }
}

Ranks::~Ranks() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (tuttiComm_t comm : comms_) {
    if (comm != nullptr) tuttiCommDestroy(comm);
  }
}

Outcome Ranks::run(const std::function<Outcome(int rank)>& job) {
  std::unique_lock lock(mutex_);
  job_ = &job;
  jobNumber_++;
  running_ = here();
  first_.reset();
  changed_.notify_all();
  changed_.wait(lock, [&] { return running_ == 0; });
  return agreeOnOutcome(launch_, first_);
}

void Ranks::serve(int rank) {
  std::unique_lock lock(mutex_);
  for (long done = 0;; done++) {
    changed_.wait(lock, [&] { return ending_ || jobNumber_ > done; });
    if (ending_) return;
    const std::function<Outcome(int rank)>& job = *job_;
    lock.unlock();
    Outcome outcome = outcomeOfJob(job, rank);
    if (outcome) outcome->atSeconds = monotonicSeconds();
    tuttiComm_t& comm = comms_[at(rank)];
    lock.lock();
    if (outcome && (!first_ || isNearerToTheCause(*outcome, *first_))) first_ = outcome;
    if (outcome && comm != nullptr) {
      lock.unlock();
      tuttiCommAbort(comm);
      comm = nullptr;
      lock.lock();
    }
    if (--running_ == 0) changed_.notify_all();
  }
}

Outcome outcomeOf(tuttiResult_t result, int rank, const char* what, tuttiComm_t comm) {
  if (result == tuttiSuccess) return std::nullopt;
  const char* reason = tuttiGetLastError(comm);  // names the call
  const bool known = reason != nullptr && reason[0] != '\0';
  return Failure{rank, result,
                 known ? fmt::format("{}: {}", tuttiGetErrorString(result), reason)
                       : fmt::format("{}: {}", what, tuttiGetErrorString(result))};
}

}  // namespace tutti::bench
