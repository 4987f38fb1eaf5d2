// The context in which a CUDA thread block runs the step body: one block drives one lane, its threads share the
// operand lists and the fit, and move the data together. See kernels/advance-inl.h for what a context is.
#pragma once

#include <cstdint>

#include "base/mailbox_end.h"
#include "base/memory_order.h"
#include "kernels/cuda/reduce_copy.cuh"

namespace tutti::cuda {

// Of one thread of the block. The kernel has one for each type and operation, so the reduction that the call
// names is the one it was made for.
template <DataType type, Operation operation>
class BlockContext {
 public:
  static constexpr bool kOneThread = false;
  static constexpr bool kSharedWorkspace = true;
  static constexpr bool kTakesWords = true;

  // Waiting ends `patienceNs` nanoseconds from now.
  __device__ explicit BlockContext(std::uint64_t patienceNs) : deadline_(now() + patienceNs) {}

  __device__ std::uint32_t tid() const { return threadIdx.x; }
  __device__ std::uint32_t ntid() const { return blockDim.x; }
  __device__ void sync() { __syncthreads(); }
  __device__ bool every(bool own) { return __syncthreads_and(own) != 0; }
  __device__ std::uint64_t loadAcquire(const std::uint64_t* word) { return tutti::loadAcquire(word); }
  __device__ void storeRelease(std::uint64_t* word, std::uint64_t value) { tutti::storeRelease(word, value); }
  __device__ std::uint64_t loadRelaxed(const std::uint64_t* word) { return tutti::loadRelaxed(word); }
  __device__ void storeRelaxed(std::uint64_t* word, std::uint64_t value) { tutti::storeRelaxed(word, value); }

  __device__ void suspect(const MailboxEnd&) { suspicious_ = true; }
  // No communicator stands behind a launch yet that could break.
  static __device__ constexpr bool isAbandoned() { return false; }

  __device__ void reduceCopy(const Reduction& reduction, const Source* sources, int nsources,
                             const Destination* destinations, int ndestinations, std::uint64_t count) {
    cuda::reduceCopy<type, operation>(reduction, sources, nsources, destinations, ndestinations, count,
                                      {threadIdx.x, blockDim.x});
  }
  __device__ void reduceCopyStaged(const Reduction& reduction, const Source* sources, int nsources,
                                   const Destination* destinations, int ndestinations, std::uint64_t count) {
    cuda::reduceCopyStaged<type, operation>(reduction, sources, nsources, destinations, ndestinations, count,
                                            {threadIdx.x, blockDim.x});
  }
  // The elements of one line, by the thread that owns it.
  __device__ void reduceCopyAlone(const Reduction& reduction, const Source* sources, int nsources,
                                  const Destination* destinations, int ndestinations, std::uint64_t count) {
    reduceCopyElements<type, operation>(reduction, sources, nsources, destinations, ndestinations, 0, count,
                                        1);
  }

  // False: nothing came in time. All threads together, and all get the same answer. The clock is slow to read
  // and the barrier is one more, so only some calls look.
  __device__ bool mayWait() {
    if (++misses_ % kMissesPerLook != 0) return true;
    return __syncthreads_or(threadIdx.x == 0 && now() > deadline_) == 0;
  }
  // A message of another call was seen by some thread. All threads together.
  __device__ bool anySuspicion() { return __syncthreads_or(suspicious_) != 0; }

 private:
  static constexpr std::uint32_t kMissesPerLook = 64;

  // Nanoseconds, the same clock on all multiprocessors. It ticks every microsecond or so.
  static __device__ std::uint64_t now() {
    std::uint64_t time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
  }

  std::uint64_t deadline_;
  std::uint32_t misses_ = 0;
  bool suspicious_ = false;
};

}  // namespace tutti::cuda
