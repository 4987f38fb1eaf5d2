// A device that the host plays, so that the stages of gpu_proof themselves are tested where there is no GPU: the few
// functions of the CUDA runtime that they use, and launches that run on threads of the host and end before they return.
// It is linked in place of the runtime and of kernels/cuda. TUTTI_STAND_IN=wrong spoils what reduceCopy stores, lost ends
// every launch with an error, and hang leaves every lane where a deadline would.
#include <cuda_runtime_api.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "base/memory_order.h"
#include "kernels/cuda/reduce_copy.h"
#include "kernels/cuda/virtual_lane-inl.h"
#include "kernels/cuda/virtual_ranks.h"
#include "kernels/reduce_copy.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kFreeBytes = std::size_t{600} << 20;

bool plays(std::string_view what) {
  const char* asked = std::getenv("TUTTI_STAND_IN");
  return asked != nullptr && what == asked;
}

}  // namespace

struct CUevent_st {
  Clock::time_point time;
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
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 1;
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
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
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
  event->time = Clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  *ms = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return cudaSuccess;
}

namespace tutti::cuda {
namespace {

// A block of one thread, which yields where a block of a device would spin.
class HostBlockContext {
 public:
  static constexpr bool kOneThread = true;
  static constexpr bool kSharedWorkspace = true;
  static constexpr bool kTakesWords = false;

  explicit HostBlockContext(std::uint64_t patienceNs)
      : deadline_(Clock::now() + std::chrono::nanoseconds(patienceNs)) {}

  static constexpr std::uint32_t tid() { return 0; }
  static constexpr std::uint32_t ntid() { return 1; }
  static void sync() {}
  static bool every(bool own) { return own; }
  static std::uint64_t loadAcquire(const std::uint64_t* word) { return tutti::loadAcquire(word); }
  static void storeRelease(std::uint64_t* word, std::uint64_t value) { tutti::storeRelease(word, value); }
  void suspect(const MailboxEnd&) { suspicious_ = true; }
  static constexpr bool isAbandoned() { return false; }
  static void reduceCopy(const Reduction& reduction, const Source* sources, int nsources,
                         const Destination* destinations, int ndestinations, std::uint64_t count) {
    tutti::reduceCopy(reduction, sources, nsources, destinations, ndestinations, count);
  }
  static void reduceCopyAlone(const Reduction& reduction, const Source* sources, int nsources,
                              const Destination* destinations, int ndestinations, std::uint64_t count) {
    tutti::reduceCopy(reduction, sources, nsources, destinations, ndestinations, count);
  }
  bool mayWait() const {
    std::this_thread::yield();
    return Clock::now() < deadline_;
  }
  bool anySuspicion() const { return suspicious_; }

 private:
  Clock::time_point deadline_;
  bool suspicious_ = false;
};

struct alignas(kApart) Piece {
  std::byte bytes[kApart];
};

}  // namespace

int launchReduceCopy(const ReduceCopyCall& call, unsigned, void*) {
  if (plays("lost")) return cudaErrorUnknown;
  tutti::reduceCopy(call.reduction, call.sources, call.nsources, call.destinations, call.ndestinations,
                    call.count);
  if (plays("wrong")) static_cast<std::uint8_t*>(call.destinations[0].data)[0] ^= 1;
  return cudaSuccess;
}

std::size_t workspaceBytesOf(const VirtualLane& lane, unsigned nthreads) {
  return workspaceOf(lane, nthreads, nullptr).bytes;
}

int launchVirtualRanks(const VirtualRanks& ranks, void*) {
  if (plays("lost")) return cudaErrorUnknown;
  if (plays("hang")) return cudaSuccess;
  std::vector<std::thread> blocks;
  for (unsigned rank = 0; rank < ranks.nranks; ++rank) {
    for (unsigned l = 0; l < ranks.nlanes; ++l) {
      const std::size_t index = std::size_t{rank} * ranks.nlanes + l;
      if (ranks.lanes[index].program.nsteps == 0) continue;
      blocks.emplace_back([&ranks, rank, index] {
        std::vector<Piece> workspace(ranks.workspaceBytes / sizeof(Piece) + 1);
        HostBlockContext context(ranks.patienceNs);
        runVirtualLane(context, ranks.lanes[index], ranks.calls[rank],
                       reinterpret_cast<std::byte*>(workspace.data()), &ranks.outcomes[index]);
      });
    }
  }
  for (std::thread& block : blocks) block.join();
  return cudaSuccess;
}

}  // namespace tutti::cuda
