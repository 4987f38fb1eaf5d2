// The program that tests/gpu/run starts, stage by stage, on a machine with a GPU. It needs nothing of CUDA to start;
// without a GPU it says so and ends with a status of its own.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/reduce_copy.h"
#include "kernels/cuda/virtual_ranks.h"
#include "kernels/reduce_copy.h"
#include "tests/gpu/virtual_communicator.h"

namespace tutti::cuda {
namespace {

constexpr int kPassed = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kNoGpu = 77;  // what Meson, as Automake, takes for "skipped"

bool succeeds(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return true;
  std::printf("FAILED: %s: %s (%s)\n", what, cudaGetErrorName(error), cudaGetErrorString(error));
  return false;
}

// What the device is, and whether the cooperative form can run at all.
int probe() {
  cudaDeviceProp properties;
  int runtime = 0;
  int driver = 0;
  int cooperative = 0;
  if (!succeeds(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties") ||
      !succeeds(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion") ||
      !succeeds(cudaDriverGetVersion(&driver), "cudaDriverGetVersion") ||
      !succeeds(cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0), "cooperative launch"))
    return kFailed;
  std::printf(
      "device: %s, sm_%d%d, %d multiprocessors, %zu MiB, runtime %d, driver %d, cooperative launch: %s\n",
      properties.name, properties.major, properties.minor, properties.multiProcessorCount,
      properties.totalGlobalMem >> 20, runtime, driver, cooperative != 0 ? "yes" : "no");
  return cooperative != 0 ? kPassed : kFailed;
}

// An arena on the device with its copy on the host.
class DeviceArena {
 public:
  explicit DeviceArena(std::size_t bytes) : bytes_(bytes) {
    host_ = static_cast<std::byte*>(std::aligned_alloc(256, bytes));
    if (host_ == nullptr || !succeeds(cudaMalloc(&device_, bytes), "cudaMalloc")) std::exit(kFailed);
    arena_ = std::make_unique<Arena>(host_, static_cast<std::byte*>(device_), bytes);
  }
  DeviceArena(const DeviceArena&) = delete;
  DeviceArena& operator=(const DeviceArena&) = delete;
  ~DeviceArena() {
    cudaFree(device_);
    std::free(host_);
  }

  Arena& arena() { return *arena_; }
  bool upload() {
    return succeeds(cudaMemcpy(device_, host_, arena_->used(), cudaMemcpyHostToDevice), "copy to the device");
  }
  bool download() {
    return succeeds(cudaMemcpy(host_, device_, arena_->used(), cudaMemcpyDeviceToHost),
                    "copy from the device");
  }

 private:
  std::size_t bytes_;
  std::byte* host_ = nullptr;
  void* device_ = nullptr;
  std::unique_ptr<Arena> arena_;
};

bool launched(int error, const char* what) {
  return succeeds(static_cast<cudaError_t>(error), what);
}

// Every collective by one algorithm, launch after launch on the same links.
bool collectivesWork(int nranks, Algorithm algorithm) {
  DeviceArena memory(std::size_t{64} << 20);
  VirtualCommunicator communicator(memory.arena(), nranks, 4, 4096);
  std::vector<PlacedCall> calls;
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    if (!serves(algorithm, collective, nranks)) continue;
    for (std::uint64_t count : {1, 1023, 65539}) {
      if (algorithm == Algorithm::twoShotWindow)
        calls.push_back(communicator.place({Collective::barrier, Algorithm::oneShot, 0}));
      calls.push_back(
          communicator.place({collective, algorithm, count, isRooted(collective) ? nranks - 1 : 0}));
    }
  }
  bool right = memory.upload();
  for (PlacedCall& call : calls) {
    for (std::size_t i = 0; i < call.hasLane.size(); ++i)
      call.launch.workspaceBytes =
          std::max(call.launch.workspaceBytes, workspaceBytesOf(call.lanes[i], call.launch.nthreads));
    right = right && launched(launchVirtualRanks(call.launch, nullptr), describe(call.call).c_str());
  }
  right = right && succeeds(cudaDeviceSynchronize(), "the launches") && memory.download();
  if (!right) return false;
  std::vector<std::string> faults = communicator.faultsOfLinks();
  for (const PlacedCall& call : calls) {
    for (const std::string& fault : communicator.faultsOf(call)) faults.push_back(fault);
  }
  if (!memory.arena().areGuardsUntouched()) faults.push_back("bytes between the buffers were written");
  for (std::size_t i = 0; i < faults.size() && i < 5; ++i) std::printf("FAILED: %s\n", faults[i].c_str());
  std::printf("%d ranks, %s: %zu calls, %s\n", nranks, nameOf(algorithm), calls.size(),
              faults.empty() ? "right" : "WRONG");
  std::fflush(stdout);
  return faults.empty();
}

// Random contents, less what could make a NaN: its bits are free (tests/kernels has them).
void fillFinite(std::mt19937_64& random, std::byte* data, std::size_t bytes, std::size_t elementBytes) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random());
  for (std::size_t i = elementBytes - 1; i < bytes; i += elementBytes)
    data[i] = static_cast<std::byte>(0x38 + random() % 8 + (random() % 2) * 0x80);
}

// The kernel of its own, against the host's.
bool reduceCopyWorks(DataType type, Operation operation) {
  std::mt19937_64 random(static_cast<unsigned>(type) * 8 + static_cast<unsigned>(operation));
  bool right = true;
  for (std::uint64_t count : {1, 7, 1023, 65539}) {
    for (int noperands : {1, 2, 8}) {
      for (std::size_t skew : {0, 1}) {
        const std::size_t size = bytesOf(type);
        const std::size_t bytes = count * size;
        DeviceArena memory((2 * static_cast<std::size_t>(noperands) * (bytes + 512) + 4095) / 4096 * 4096);
        Arena& arena = memory.arena();
        ReduceCopyCall call{};
        call.reduction = {type, operation, 3};
        call.count = count;
        call.nsources = noperands;
        call.ndestinations = noperands;
        std::vector<Source> sources;
        std::vector<Destination> expected;
        std::vector<const std::byte*> got;
        std::vector<std::vector<std::byte>> memories(static_cast<std::size_t>(noperands));
        for (int k = 0; k < noperands; ++k) {
          const auto source = arena.place<std::byte>(bytes, k % 2 == 1 ? skew * size : 0);
          const auto destination = arena.place<std::byte>(bytes, skew * size);
          fillFinite(random, source.host, bytes, size);
          auto& own = memories[static_cast<std::size_t>(k)];
          own.resize(bytes);
          sources.push_back({source.host, Form::raw});
          expected.push_back({own.data(), Form::result});
          got.push_back(destination.host);
          call.sources[k] = {source.device, Form::raw};
          call.destinations[k] = {destination.device, Form::result};
        }
        tutti::reduceCopy(call.reduction, sources.data(), noperands, expected.data(), noperands, count);
        if (!memory.upload() || !launched(launchReduceCopy(call, 0, nullptr), "reduceCopy") ||
            !succeeds(cudaDeviceSynchronize(), "reduceCopy") || !memory.download())
          return false;
        bool same = arena.areGuardsUntouched();
        for (int k = 0; k < noperands; ++k)
          same = same && std::memcmp(got[static_cast<std::size_t>(k)],
                                     memories[static_cast<std::size_t>(k)].data(), bytes) == 0;
        if (!same)
          std::printf("FAILED: reduceCopy %s %s, %llu elements, %d operands, askew by %zu\n", nameOf(type),
                      nameOf(operation), static_cast<unsigned long long>(count), noperands, skew);
        right = right && same;
      }
    }
  }
  return right;
}

int smoke() {
  bool right = true;
  for (Algorithm algorithm : {Algorithm::ring, Algorithm::oneShot, Algorithm::twoShot,
                              Algorithm::twoShotWindow, Algorithm::doubleTree, Algorithm::chain})
    right = collectivesWork(4, algorithm) && right;
  int wrong = 0;
  for (int type = 0; type < kDataTypes; ++type) {
    for (int operation = 0; operation < kOperations; ++operation)
      wrong += reduceCopyWorks(static_cast<DataType>(type), static_cast<Operation>(operation)) ? 0 : 1;
  }
  std::printf("reduceCopy: %d of %d pairs of type and operation wrong\n", wrong, kDataTypes * kOperations);
  return right && wrong == 0 ? kPassed : kFailed;
}

int run(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s probe|smoke\n", argv[0]);
    return kUsage;
  }
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice ||
      (error == cudaSuccess && devices == 0)) {
    std::printf("no GPU: %s\n", cudaGetErrorString(error));
    return kNoGpu;
  }
  if (!succeeds(error, "cudaGetDeviceCount")) return kFailed;
  if (std::strcmp(argv[1], "probe") == 0) return probe();
  if (std::strcmp(argv[1], "smoke") == 0) return smoke();
  std::fprintf(stderr, "%s: there is no stage '%s'\n", argv[0], argv[1]);
  return kUsage;
}

}  // namespace
}  // namespace tutti::cuda

int main(int argc, char** argv) {
  return tutti::cuda::run(argc, argv);
}
