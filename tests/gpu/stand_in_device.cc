// A device that the host plays, so that the stages of gpu_proof themselves are tested where there is no GPU: the few
// functions of the CUDA runtime that they use, and launches that are emulated and end before they return. It is linked in
// place of the runtime and of kernels/cuda. TUTTI_STAND_IN says what it plays:
//   wrong          a bit of what a launch stores is another one
//   beyond         a launch writes a byte that lies between the buffers
//   scribbling     a launch writes to what it is to read only
//   miscounted     an end of a link counts a byte too many
//   lost           every launch ends with an error
//   hang           every lane is left where a deadline would leave it
//   done           a lane that met its deadline says that it is done
//   late           a deadline comes later than it should
//   still          the clock of events stands
//   unreadable     nothing can be copied back
//   none, undriven, old    there is no device, no driver, or one that is older than the runtime
//   uncooperative  there are no cooperative launches
//   tiny           there is one multiprocessor
//   oddly named    the device's name is no UTF-8, and has what Markdown takes for its own
//   FUNCTION       this function of the runtime fails
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
#include "tests/gpu/device_functions.h"
#include "tests/gpu/emulated_blocks.h"

namespace {

constexpr std::size_t kFreeBytes = std::size_t{600} << 20;
constexpr int kSharedBytes = 227 << 10;  // that a block may have
// Launches of no more patience meet their deadline; the emulation knows no time, and others end in any case.
constexpr std::uint64_t kLittlePatienceNs = 200'000'000;
// Up to so many the device's own reduceCopy adds, and the host's, which is faster, where there are more.
constexpr std::uint64_t kFewElements = 10'000;

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

int nprocessors() {
  return plays("tiny") ? 1 : 132;
}

// What a function of the runtime returns.
cudaError_t answer(std::string_view function) {
  return plays(function) ? cudaErrorUnknown : cudaSuccess;
}

}  // namespace

struct CUevent_st {
  std::uint64_t ns;
};

cudaError_t cudaGetDeviceCount(int* count) {
  if (plays("old") || plays("undriven")) return cudaErrorInsufficientDriver;
  *count = plays("none") ? 0 : 1;
  return answer("cudaGetDeviceCount");
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, plays("oddly named") ? "a|b\n\xff" : "stand-in");
  return answer("cudaGetDeviceProperties");
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return answer("cudaRuntimeGetVersion");
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = plays("undriven") ? 0 : plays("old") ? 12040 : CUDART_VERSION;
  return answer("cudaDriverGetVersion");
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = kFreeBytes;
  return answer("cudaMemGetInfo");
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount            ? nprocessors()
           : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? kSharedBytes
           : attribute == cudaDevAttrCooperativeLaunch            ? !plays("uncooperative")
                                                                  : 1;
  return answer("cudaDeviceGetAttribute");
}
cudaError_t cudaSetDevice(int) {
  return answer("cudaSetDevice");
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = nullptr;
  return answer("cudaStreamCreateWithFlags");
}
cudaError_t cudaStreamDestroy(cudaStream_t) {
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return answer("cudaStreamSynchronize");
}
cudaError_t cudaDeviceSynchronize() {
  return answer("cudaDeviceSynchronize");
}
cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorUnknown:
      return "cudaErrorUnknown";
    case cudaErrorInsufficientDriver:
      return "cudaErrorInsufficientDriver";
    default:
      return "cudaError";
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess ? "no error" : "an error of the stand-in";
}

// With room behind the bytes for one that is written there.
cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  *data = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  return *data == nullptr ? cudaErrorMemoryAllocation : answer("cudaMalloc");
}
cudaError_t cudaFree(void* data) {
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** data, std::size_t bytes, unsigned) {
  if (const cudaError_t error = answer("cudaHostAlloc"); error != cudaSuccess) return error;
  return cudaMalloc(data, bytes);
}
cudaError_t cudaFreeHost(void* data) {
  return cudaFree(data);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (plays("unreadable") && kind == cudaMemcpyDeviceToHost) return cudaErrorUnknown;
  std::memcpy(to, from, bytes);
  return answer("cudaMemcpy");
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  if (plays("unreadable") && kind == cudaMemcpyDeviceToHost) return cudaErrorUnknown;
  pass(kLaunchNs + bytes / 1000);
  std::memcpy(to, from, bytes);
  return answer("cudaMemcpyAsync");
}
cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t) {
  std::memset(data, value, bytes);
  return answer("cudaMemsetAsync");
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  if (const cudaError_t error = answer("cudaEventCreate"); error != cudaSuccess) return error;
  *event = new CUevent_st{0};
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (event == nullptr) return cudaErrorInvalidResourceHandle;
  event->ns = clockNs;
  return answer("cudaEventRecord");
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  *ms = static_cast<float>(end->ns - begin->ns) * 1e-6f;
  return answer("cudaEventElapsedTime");
}

namespace tutti::cuda {

int launchReduceCopy(const ReduceCopyCall& call, unsigned, void*) {
  if (plays("lost")) return cudaErrorUnknown;
  if (call.count <= kFewElements)
    deviceReduceCopyOf(call.reduction.type, call.reduction.operation)(call.reduction, call.sources,
                                                                      call.nsources, call.destinations,
                                                                      call.ndestinations, call.count, {0, 1});
  else
    tutti::reduceCopy(call.reduction, call.sources, call.nsources, call.destinations, call.ndestinations,
                      call.count);
  const Destination& written = call.destinations[call.ndestinations - 1];
  auto* last = static_cast<std::byte*>(written.data);
  const std::size_t bytes = call.count * bytesOf(call.reduction.type, call.reduction.operation, written.form);
  if (plays("wrong")) last[bytes - 1] ^= std::byte{1};
  if (plays("beyond")) last[bytes] ^= std::byte{1};
  if (plays("scribbling"))
    static_cast<std::byte*>(const_cast<void*>(call.sources[call.nsources - 1].data))[0] ^= std::byte{1};
  pass(kLaunchNs + call.count * static_cast<unsigned>(call.nsources + call.ndestinations) / 1000);
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
  if (ranks.nranks * ranks.nlanes > static_cast<unsigned>(nprocessors()))
    return cudaErrorCooperativeLaunchTooLarge;
  if (plays("hang")) return cudaSuccess;
  for (unsigned i = 0; i < ranks.nranks * ranks.nlanes; ++i) {
    if (workspaceBytesOf(ranks.lanes[i], ranks.nthreads) > ranks.workspaceBytes) return cudaErrorInvalidValue;
  }
  EmulatedBlocks blocks;
  blocks.hasDeadline = ranks.patienceNs <= kLittlePatienceNs;
  if (blocks.hasDeadline && plays("late")) std::this_thread::sleep_for(std::chrono::milliseconds(3100));
  runEmulated({&ranks, 1}, blocks);
  pass(kLaunchNs + ranks.repeats * kCallNs);
  const CallArguments& call = ranks.calls[0];
  auto* input = const_cast<std::byte*>(call.input);
  if (plays("wrong") && call.cut.count != 0) *call.output ^= std::byte{1};
  if (plays("beyond")) input[-1] ^= std::byte{1};
  if (plays("scribbling") && call.cut.count != 0) *input ^= std::byte{1};
  if (plays("miscounted")) ++ranks.lanes[0].ends[0]->bytes;
  if (plays("done") && blocks.hasDeadline) ranks.outcomes[0].done = true;
  return cudaSuccess;
}

}  // namespace tutti::cuda
