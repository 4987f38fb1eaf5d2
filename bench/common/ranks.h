// The ranks of this process: one communicator and one thread each. A job runs on all ranks of all processes at
// once; when one rank fails, its communicator is aborted, so that the others leave their calls instead of waiting
// for it.
#pragma once

#include "agreement.h"

#include <tutti/tutti.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tutti::bench {

class Ranks {
 public:
  // Threads for this process's ranks, as many in each process. Throws std::runtime_error when the system makes no
  // more.
  Ranks(Launch& launch, int threads);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  Launch& launch() const { return launch_; }
  int count() const { return here() * launch_.processes(); }    // of all processes
  int here() const { return static_cast<int>(comms_.size()); }  // of this process
  int first() const { return launch_.process() * here(); }      // of this process; the others follow it
  std::size_t at(int rank) const { return static_cast<std::size_t>(rank - first()); }  // among those here

  // Of a rank of this process, nullptr without one. Whoever sets it hands it over.
  tuttiComm_t comm(int rank) const { return comms_[at(rank)]; }
  void setComm(int rank, tuttiComm_t comm) { comms_[at(rank)] = comm; }

  // Collective over the processes: runs job(rank) on every rank's thread, waits for all, and returns the failure
  // that came first, if any. A job that throws has failed with tuttiSystemError.
  Outcome run(const std::function<Outcome(int rank)>& job);

 private:
  Ranks(Launch& launch, std::vector<tuttiComm_t> comms) : launch_(launch), comms_(std::move(comms)) {}
  void serve(int rank);

  Launch& launch_;
  std::vector<tuttiComm_t> comms_;  // nullptr once aborted; each entry is its thread's during a job
  std::mutex mutex_;                // guards what follows
  std::condition_variable changed_;
  const std::function<Outcome(int rank)>* job_ = nullptr;
  long jobNumber_ = 0;
  int running_ = 0;
  bool ending_ = false;
  Outcome first_;
  std::vector<std::thread> threads_;  // last: they use everything above
};

// The failure of a call on this rank, with the library's own words; nothing for tuttiSuccess.
Outcome outcomeOf(tuttiResult_t result, int rank, const char* what, tuttiComm_t comm);

}  // namespace tutti::bench
