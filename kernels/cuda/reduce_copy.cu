// reduceCopy as a kernel of its own for one element type, TUTTI_TYPE, which the build names: one for each operation.
#include "kernels/cuda/reduce_copy.cuh"

#include "kernels/cuda/kernels_of_type.h"
#include "kernels/cuda/reduce_copy.h"

namespace tutti::cuda {
namespace {

template <DataType type, Operation operation>
__global__ void __launch_bounds__(kReduceCopyThreads, 1) reduceCopyAll(const ReduceCopyCall call) {
  // Copied piece by piece, because indexing a parameter by what only the run knows moves it to the stack.
  __shared__ Source sources[kMostKernelOperands];
  __shared__ Destination destinations[kMostKernelOperands];
  TUTTI_UNROLL
  for (int k = 0; k < kMostKernelOperands; ++k) {
    if (threadIdx.x == k) {
      sources[k] = call.sources[k];
      destinations[k] = call.destinations[k];
    }
  }
  __syncthreads();
  const std::uint64_t thread = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  reduceCopy<type, operation>(call.reduction, sources, call.nsources, destinations, call.ndestinations,
                              call.count, {thread, std::uint64_t{gridDim.x} * blockDim.x});
}

}  // namespace

template <DataType type>
const void* reduceCopyKernel(Operation operation) {
  switch (operation) {
    case Operation::sum:
      return reinterpret_cast<const void*>(reduceCopyAll<type, Operation::sum>);
    case Operation::prod:
      return reinterpret_cast<const void*>(reduceCopyAll<type, Operation::prod>);
    case Operation::max:
      return reinterpret_cast<const void*>(reduceCopyAll<type, Operation::max>);
    case Operation::min:
      return reinterpret_cast<const void*>(reduceCopyAll<type, Operation::min>);
    case Operation::avg:
      return reinterpret_cast<const void*>(reduceCopyAll<type, Operation::avg>);
  }
  return nullptr;
}

template const void* reduceCopyKernel<DataType::TUTTI_TYPE>(Operation);

}  // namespace tutti::cuda
