// All ranks of a communicator, owned by a test: made with a deadline, destroyed at the end whatever happened.
#pragma once

#include <tutti/tutti.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tutti {

// Long enough for a busy machine under a sanitizer, short enough for a test that would otherwise hang.
inline constexpr std::int64_t kPatientMs = 60'000;

inline tuttiConfig_t configOf(std::int64_t timeoutMs = kPatientMs, const char* algorithm = nullptr) {
  tuttiConfig_t config = TUTTI_CONFIG_INIT;
  config.timeoutMs = timeoutMs;
  config.algorithm = algorithm;
  return config;
}

class Communicators {
 public:
  explicit Communicators(int nranks, const tuttiConfig_t& config = configOf())
      : handles_(static_cast<std::size_t>(nranks)) {
    result_ = tuttiCommInitAllConfig(handles_.data(), nranks, nullptr, &config);
    if (result_ != tuttiSuccess) handles_.clear();
  }
  Communicators(int nranks, const std::string& algorithm)
      : Communicators(nranks, configOf(kPatientMs, algorithm.c_str())) {}
  Communicators(Communicators&& other) noexcept
      : handles_(std::move(other.handles_)), result_(other.result_) {
    other.handles_.clear();
  }
  Communicators& operator=(Communicators&&) = delete;
  ~Communicators() {
    for (tuttiComm_t handle : handles_) {
      if (handle != nullptr) tuttiCommDestroy(handle);
    }
  }

  tuttiResult_t result() const { return result_; }  // of making them
  int size() const { return static_cast<int>(handles_.size()); }
  tuttiComm_t operator[](int rank) const { return handles_[static_cast<std::size_t>(rank)]; }

  // The test has ended, or will end, that rank itself.
  tuttiComm_t take(int rank) {
    const tuttiComm_t handle = (*this)[rank];
    handles_[static_cast<std::size_t>(rank)] = nullptr;
    return handle;
  }

 private:
  std::vector<tuttiComm_t> handles_;
  tuttiResult_t result_ = tuttiSuccess;
};

inline tuttiPlan_t lastPlanOf(tuttiComm_t comm) {
  tuttiPlan_t plan = TUTTI_PLAN_INIT;
  if (tuttiCommLastPlan(comm, &plan) != tuttiSuccess) plan.algorithm[0] = '?';
  return plan;
}

// One small all-reduce on every rank, by one thread; true if all ranks got the right answer.
inline bool works(const Communicators& comms) {
  std::vector<int> values(static_cast<std::size_t>(comms.size()), 1);
  if (tuttiGroupStart() != tuttiSuccess) return false;
  for (int rank = 0; rank < comms.size(); ++rank) {
    int* value = &values[static_cast<std::size_t>(rank)];
    tuttiAllReduce(value, value, 1, tuttiInt32, tuttiSum, comms[rank], nullptr);
  }
  if (tuttiGroupEnd() != tuttiSuccess) return false;
  for (int value : values) {
    if (value != comms.size()) return false;
  }
  return true;
}

}  // namespace tutti
