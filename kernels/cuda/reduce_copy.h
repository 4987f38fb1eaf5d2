// reduceCopy as a kernel of its own, and how it is launched. No type of CUDA is named here.
#pragma once

#include <cstdint>

#include "kernels/reduction.h"

namespace tutti::cuda {

inline constexpr int kMostKernelOperands = 8;
inline constexpr int kReduceCopyThreads = 512;  // of a block

// The arguments of one launch; the kernel gets them by value.
struct ReduceCopyCall {
  Reduction reduction;
  std::uint64_t count;  // elements
  int nsources;         // 1 to kMostKernelOperands
  int ndestinations;    // likewise
  Source sources[kMostKernelOperands];
  Destination destinations[kMostKernelOperands];
};

// Queues destinations[] = reduce(sources[]) on `stream` (a cudaStream_t) of the current device and returns without
// waiting: a cudaError_t, 0 if it was queued. The operands are memory that the device reaches, of any alignment,
// and otherwise as kernels/reduce_copy.h says; the bits are those of kernels/reduce_element.h. `nblocks`: of
// kReduceCopyThreads; 0 as many as the device holds. Any thread.
int launchReduceCopy(const ReduceCopyCall& call, unsigned nblocks, void* stream);

}  // namespace tutti::cuda
