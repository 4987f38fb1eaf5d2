// Picks the kernel of a type and operation and hands it to the CUDA runtime: the only host code here.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/cuda/kernels_of_type.h"
#include "kernels/cuda/reduce_copy.h"
#include "kernels/cuda/virtual_lane-inl.h"
#include "kernels/cuda/virtual_ranks.h"

namespace tutti::cuda {
namespace {

// Names of kernels_of_type.h are templates over the type, which only the run knows.
template <class Of>
const void* ofType(DataType type, const Of& of) {
  switch (type) {
    case DataType::i8:
      return of.template operator()<DataType::i8>();
    case DataType::u8:
      return of.template operator()<DataType::u8>();
    case DataType::i32:
      return of.template operator()<DataType::i32>();
    case DataType::u32:
      return of.template operator()<DataType::u32>();
    case DataType::i64:
      return of.template operator()<DataType::i64>();
    case DataType::u64:
      return of.template operator()<DataType::u64>();
    case DataType::f16:
      return of.template operator()<DataType::f16>();
    case DataType::f32:
      return of.template operator()<DataType::f32>();
    case DataType::f64:
      return of.template operator()<DataType::f64>();
    case DataType::bf16:
      return of.template operator()<DataType::bf16>();
    case DataType::f8e4m3:
      return of.template operator()<DataType::f8e4m3>();
    case DataType::f8e5m2:
      return of.template operator()<DataType::f8e5m2>();
  }
  return nullptr;
}

// All that a block may have. It is the same for each launch, so threads that launch a kernel with different workspaces
// do not take it from each other.
cudaError_t allowMostSharedMemory(const void* kernel) {
  int device = 0;
  int most = 0;
  cudaFuncAttributes attributes;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, kernel);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(attributes.sharedSizeBytes));
}

}  // namespace

int launchReduceCopy(const ReduceCopyCall& call, unsigned nblocks, void* stream) {
  if (call.nsources < 1 || call.nsources > kMostKernelOperands || call.ndestinations < 1 ||
      call.ndestinations > kMostKernelOperands)
    return cudaErrorInvalidValue;
  const void* kernel = ofType(
      call.reduction.type, [&]<DataType type>() { return reduceCopyKernel<type>(call.reduction.operation); });
  if (kernel == nullptr) return cudaErrorInvalidValue;
  if (nblocks == 0) {
    int device = 0;
    int nprocessors = 0;
    int perProcessor = 0;
    cudaError_t error = cudaGetDevice(&device);
    if (error == cudaSuccess)
      error = cudaDeviceGetAttribute(&nprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess)
      error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perProcessor, kernel, kReduceCopyThreads, 0);
    if (error != cudaSuccess) return error;
    nblocks = static_cast<unsigned>(std::max(1, nprocessors * perProcessor));
  }
  // No more blocks than there is work for: a thread takes 16 bytes at least.
  const std::uint64_t wanted = call.count * bytesOf(call.reduction.type) / (16 * kReduceCopyThreads) + 1;
  nblocks = static_cast<unsigned>(std::min<std::uint64_t>(nblocks, wanted));
  void* arguments[] = {const_cast<ReduceCopyCall*>(&call)};
  return cudaLaunchKernel(kernel, dim3(nblocks), dim3(kReduceCopyThreads), arguments, 0,
                          static_cast<cudaStream_t>(stream));
}

std::size_t workspaceBytesOf(const VirtualLane& lane, unsigned nthreads) {
  return workspaceOf(lane, nthreads, nullptr).bytes;
}

int launchVirtualRanks(const VirtualRanks& ranks, void* stream) {
  if (ranks.nranks == 0 || ranks.nlanes == 0 || ranks.nthreads == 0 || ranks.nthreads % 32 != 0 ||
      ranks.nthreads > kMostBlockThreads)
    return cudaErrorInvalidValue;
  const void* kernel =
      ofType(ranks.type, [&]<DataType type>() { return virtualRanksKernel<type>(ranks.operation); });
  if (kernel == nullptr) return cudaErrorInvalidValue;
  constexpr std::size_t kGranted = 48 << 10;  // more has to be asked for
  if (ranks.workspaceBytes > kGranted) {
    const cudaError_t error = allowMostSharedMemory(kernel);
    if (error != cudaSuccess) return error;
  }
  void* arguments[] = {const_cast<VirtualRanks*>(&ranks)};
  return cudaLaunchCooperativeKernel(kernel, dim3(ranks.nlanes, ranks.nranks), dim3(ranks.nthreads),
                                     arguments, ranks.workspaceBytes, static_cast<cudaStream_t>(stream));
}

}  // namespace tutti::cuda
