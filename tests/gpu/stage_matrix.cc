// The matrix (matrix.h) on the device. Its threads prepare and judge batches side by side, which is most of the work;
// on the device one batch runs at a time, so that no two cooperative launches ever share the multiprocessors.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/gpu/device.h"
#include "tests/gpu/matrix.h"
#include "tests/gpu/stages.h"

namespace tutti::cuda {
namespace {

struct Size {
  MatrixExtent extent;
  unsigned nworkers;
  std::size_t arenaBytes;
  BlockSize block;
};

// What all targets share.
struct Device {
  const Size& size;
  unsigned mostBlocks;
  std::mutex turn;  // held while a batch runs
};

class DeviceTarget : public MatrixTarget {
 public:
  // For the calling thread. Null if it cannot be made, which the report is told.
  static std::unique_ptr<DeviceTarget> make(Report& report, Device& device) {
    const std::size_t bytes = device.size.arenaBytes;
    cudaStream_t stream = nullptr;
    if (!succeeds(report, cudaSetDevice(0), "cudaSetDevice") ||
        !succeeds(report, cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate"))
      return nullptr;
    std::unique_ptr<DeviceTarget> target(new DeviceTarget(device, stream));
    target->host_ = PinnedBuffer::make(report, bytes);
    target->device_ = DeviceBuffer::make(report, bytes);
    if (!target->host_ || !target->device_) return nullptr;
    return target;
  }
  ~DeviceTarget() override { cudaStreamDestroy(stream_); }
  DeviceTarget(const DeviceTarget&) = delete;
  DeviceTarget& operator=(const DeviceTarget&) = delete;

  std::byte* host() override { return host_.data(); }
  std::byte* device() override { return device_.data(); }
  std::size_t capacity() const override { return shared_.size.arenaBytes; }
  unsigned mostBlocks() const override { return shared_.mostBlocks; }

  MatrixRun run(std::size_t used, const std::vector<PlacedCall>& calls) override {
    MatrixRun ran;
    ran.failure = failureOf(copy(device(), host(), used, cudaMemcpyHostToDevice), "copy to the device");
    if (!ran.failure.empty()) return ran;
    {
      const std::lock_guard lock(shared_.turn);
      bool goesOn = true;
      while (goesOn && ran.ncalls < calls.size()) {
        const PlacedCall& placed = calls[ran.ncalls++];
        ran.failure = launchAndWait(placed);
        goesOn = ran.failure.empty() && isDone(placed);
      }
    }
    const std::string failure =
        failureOf(copy(host(), device(), used, cudaMemcpyDeviceToHost), "copy from the device");
    ran.isBack = failure.empty();
    if (ran.failure.empty()) ran.failure = failure;
    return ran;
  }

 private:
  DeviceTarget(Device& device, cudaStream_t stream) : shared_(device), stream_(stream) {}

  cudaError_t copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, stream_);
    return error == cudaSuccess ? cudaStreamSynchronize(stream_) : error;
  }

  // And brings the outcomes back: one that met its deadline has to be the last of its batch.
  std::string launchAndWait(const PlacedCall& placed) {
    const VirtualRanks launch = launchOf(placed, shared_.size.block);
    auto error = static_cast<cudaError_t>(launchVirtualRanks(launch, stream_));
    if (error == cudaSuccess)
      error = copy(placed.outcomes, launch.outcomes, placed.hasLane.size() * sizeof(LaneOutcome),
                   cudaMemcpyDeviceToHost);
    return failureOf(error, describe(placed.call));
  }

  Device& shared_;
  cudaStream_t stream_;
  PinnedBuffer host_;
  DeviceBuffer device_;
};

void run(Report& report, const Size& size) {
  int nprocessors = 0;
  if (!succeeds(report, cudaDeviceGetAttribute(&nprocessors, cudaDevAttrMultiProcessorCount, 0),
                "cudaDeviceGetAttribute: multiprocessors"))
    return;
  // A multiprocessor has room for one block at least.
  Device device{size, static_cast<unsigned>(nprocessors), {}};
  report.table("Matrix", {"ranks", "calls", "as words", "left out", "wrong", "seconds"});
  std::mutex reporting;
  std::uint64_t ncalls = 0;
  for (int nranks : size.extent.nranks) {
    MatrixExtent extent = size.extent;
    extent.nranks = {nranks};
    const auto begin = std::chrono::steady_clock::now();
    const MatrixResult result = runMatrix(extent, size.nworkers, [&]() -> std::unique_ptr<MatrixTarget> {
      const std::lock_guard lock(reporting);
      return DeviceTarget::make(report, device);
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    ncalls += result.calls;
    report.row({nranks, result.calls, result.callsAsWords, result.leftOut, result.wrong, seconds.count()});
    for (const std::string& fault : result.faults) report.fault(fault);
    if (result.leftOut != 0)
      report.note(fmt::format("left out: {} calls of {} ranks with more lanes than the {} multiprocessors",
                              result.leftOut, nranks, nprocessors));
    if (result.nbroken >= kMostBrokenBatches) {
      report.note(fmt::format("stopped: {} batches of calls of {} ranks did not come to their end",
                              result.nbroken, nranks));
      return;
    }
  }
  if (ncalls == 0) report.fault("no call was run at all");
}

}  // namespace

// The most ranks first, which take longest.
void matrix(Report& report) {
  const unsigned nworkers = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  run(report, {{{8, 4, 2}, {1, 7, 1023}, {65539}, {1048581}}, nworkers, std::size_t{320} << 20, {}});
}

void matrixSmall(Report& report) {
  run(report, {{{4, 2}, {}, {7}, {}}, 2, std::size_t{16} << 20, kSanitizedBlock});
}

}  // namespace tutti::cuda
