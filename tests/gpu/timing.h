// Time on the device.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <vector>

namespace tutti::cuda {

class Event {
 public:
  Event() { isMade_ = cudaEventCreate(&event_) == cudaSuccess; }
  ~Event() {
    if (isMade_) cudaEventDestroy(event_);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  cudaError_t record() { return cudaEventRecord(event_, nullptr); }
  // Both have happened. Zero if that is not known.
  double secondsSince(const Event& begin) const {
    float ms = 0;
    return cudaEventElapsedTime(&ms, begin.event_, event_) == cudaSuccess ? ms * 1e-3 : 0;
  }

 private:
  cudaEvent_t event_ = nullptr;
  bool isMade_ = false;
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace tutti::cuda
