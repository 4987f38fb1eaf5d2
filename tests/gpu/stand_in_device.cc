// A device that the host plays, so that the stages of gpu_proof themselves are tested where there is no GPU: the few
// functions of the CUDA runtime that they use, and launches that are emulated and end before they return. It is linked in
// place of the runtime and of kernels/cuda. TUTTI_STAND_IN=wrong spoils what launches store, lost ends every launch with
// an error, hang leaves every lane where a deadline would, late waits for a deadline longer than it should, still stops
// the clock of events, and unreadable lets nothing be copied back from a stream.
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "kernels/cuda/reduce_copy.h"
#include "kernels/cuda/virtual_lane-inl.h"
#include "kernels/cuda/virtual_ranks.h"
#include "kernels/reduce_copy.h"
#include "tests/gpu/emulated_blocks.h"

namespace {

constexpr std::size_t kFreeBytes = std::size_t{600} << 20;
constexpr int kProcessors = 132;
constexpr int kSharedBytes = 227 << 10;  // that a block may have
// Launches of no more patience meet their deadline; the emulation knows no time, and others end in any case.
constexpr std::uint64_t kLittlePatienceNs = 200'000'000;

// What events tell: work takes the same time whatever else the host has to do.
std::atomic<std::uint64_t> clockNs{0};
constexpr std::uint64_t kLaunchNs = 4000;
constexpr std::uint64_t kCallNs = 3000;

bool plays(std::string_view what) {
  const char* asked = std::getenv("TUTTI_STAND_IN");
  return asked != nullptr && what == asked;
}

void pass(std::uint64_t ns) {
  if (!plays("still")) clockNs += ns;
}

}  // namespace

struct CUevent_st {
  std::uint64_t ns;
};

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "stand-in");
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  return cudaRuntimeGetVersion(version);
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = kFreeBytes;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount            ? kProcessors
           : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? kSharedBytes
                                                                  : 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) {
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t error) {
  return error == cudaSuccess ? "cudaSuccess" : error == cudaErrorUnknown ? "cudaErrorUnknown" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "an error of the stand-in";
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  *data = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  return *data == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  return cudaMalloc(data, bytes);
}
cudaError_t cudaFreeHost(void* data) {
  return cudaFree(data);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  if (plays("unreadable") && kind == cudaMemcpyDeviceToHost) return cudaErrorUnknown;
  pass(kLaunchNs + bytes / 1000);
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t) {
  std::memset(data, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->ns = clockNs;
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  *ms = static_cast<float>(end->ns - begin->ns) * 1e-6f;
  return cudaSuccess;
}

namespace tutti::cuda {

int launchReduceCopy(const ReduceCopyCall& call, unsigned, void*) {
  if (plays("lost")) return cudaErrorUnknown;
  tutti::reduceCopy(call.reduction, call.sources, call.nsources, call.destinations, call.ndestinations,
                    call.count);
  pass(kLaunchNs + call.count * static_cast<unsigned>(call.nsources + call.ndestinations) / 1000);
  if (plays("wrong")) static_cast<std::uint8_t*>(call.destinations[0].data)[0] ^= 1;
  return cudaSuccess;
}

std::size_t workspaceBytesOf(const VirtualLane& lane, unsigned nthreads) {
  return workspaceOf(lane, nthreads, nullptr).bytes;
}

int launchVirtualRanks(const VirtualRanks& ranks, void*) {
  if (plays("lost")) return cudaErrorUnknown;
  if (ranks.nthreads == 0 || ranks.nthreads % 32 != 0 || ranks.nthreads > kMostBlockThreads ||
      ranks.workspaceBytes > kSharedBytes)
    return cudaErrorInvalidValue;
  if (ranks.nranks * ranks.nlanes > kProcessors) return cudaErrorCooperativeLaunchTooLarge;
  if (plays("hang")) return cudaSuccess;
  for (unsigned i = 0; i < ranks.nranks * ranks.nlanes; ++i) {
    if (workspaceBytesOf(ranks.lanes[i], ranks.nthreads) > ranks.workspaceBytes) return cudaErrorInvalidValue;
  }
  EmulatedBlocks blocks;
  blocks.hasDeadline = ranks.patienceNs <= kLittlePatienceNs;
  if (blocks.hasDeadline && plays("late")) std::this_thread::sleep_for(std::chrono::milliseconds(3100));
  runEmulated({&ranks, 1}, blocks);
  pass(kLaunchNs + ranks.repeats * kCallNs);
  if (plays("wrong") && ranks.calls[0].cut.count != 0) *ranks.calls[0].output ^= std::byte{1};
  return cudaSuccess;
}

}  // namespace tutti::cuda
