// The ranks of a run: one communicator and one thread each. A job runs on all of them at once; when one rank
// fails, its communicator is aborted, so that the others leave their calls instead of waiting for it.
#pragma once

#include <tutti/tutti.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tutti::bench {

struct Failure {
  int rank;
  tuttiResult_t result;
  std::string text;
};

// What a job answers: nothing when all went well.
using Outcome = std::optional<Failure>;

class Ranks {
 public:
  // cpus: empty, or the CPU that each rank's thread is bound to. comms: one per rank, owned from now on.
  // Throws std::runtime_error when the system makes no more threads.
  Ranks(std::vector<tuttiComm_t> comms, std::vector<int> cpus);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int count() const { return static_cast<int>(comms_.size()); }
  tuttiComm_t comm(int rank) const { return comms_[static_cast<std::size_t>(rank)]; }

  // Runs job(rank) on every rank's thread, waits for all, and returns the failure that came first, if any.
  // A job that throws has failed with tuttiSystemError.
  Outcome run(const std::function<Outcome(int rank)>& job);

 private:
  explicit Ranks(std::vector<tuttiComm_t> comms) : comms_(std::move(comms)) {}
  void serve(int rank, int cpu);

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
