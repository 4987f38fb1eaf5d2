// See device.h.
#include "tests/gpu/device.h"

#include <algorithm>
#include <utility>

namespace tutti::cuda {
std::string failureOf(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return "";
  return what + ": " + cudaGetErrorName(error) + " (" + cudaGetErrorString(error) + ")";
}

std::string versionOf(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

bool succeeds(Report& report, cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return true;
  report.fault(failureOf(error, what));
  return false;
}

bool launched(Report& report, int error, const std::string& what) {
  return succeeds(report, static_cast<cudaError_t>(error), what);
}

DeviceBuffer DeviceBuffer::make(Report& report, std::size_t bytes) {
  DeviceBuffer buffer;
  void* data = nullptr;
  if (succeeds(report, cudaMalloc(&data, bytes), "cudaMalloc of " + std::to_string(bytes) + " bytes"))
    buffer.data_.reset(static_cast<std::byte*>(data));
  return buffer;
}

PinnedBuffer PinnedBuffer::make(Report& report, std::size_t bytes) {
  PinnedBuffer buffer;
  void* data = nullptr;
  if (cudaHostAlloc(&data, bytes, cudaHostAllocDefault) == cudaSuccess) {
    buffer.pinned_.reset(static_cast<std::byte*>(data));
    return buffer;
  }
  cudaGetLastError();  // it is dealt with
  buffer.any_ = HostMemory(bytes);
  if (!buffer) report.fault("no memory on the host for " + std::to_string(bytes) + " bytes");
  return buffer;
}

DeviceArena::DeviceArena(Report& report, HostMemory host, DeviceBuffer device, std::size_t bytes)
    : report_(report),
      host_(std::move(host)),
      device_(std::move(device)),
      arena_(host_.data(), device_.data(), bytes) {}

std::unique_ptr<DeviceArena> DeviceArena::make(Report& report, std::size_t bytes) {
  HostMemory host(bytes);
  if (!host) {
    report.fault("no memory on the host for an arena of " + std::to_string(bytes) + " bytes");
    return nullptr;
  }
  DeviceBuffer device = DeviceBuffer::make(report, bytes);
  if (!device) return nullptr;
  return std::unique_ptr<DeviceArena>(new DeviceArena(report, std::move(host), std::move(device), bytes));
}

bool DeviceArena::upload() {
  return succeeds(report_, cudaMemcpy(device_.data(), host_.data(), arena_.used(), cudaMemcpyHostToDevice),
                  "copy to the device");
}

bool DeviceArena::download() {
  return succeeds(report_, cudaMemcpy(host_.data(), device_.data(), arena_.used(), cudaMemcpyDeviceToHost),
                  "copy from the device");
}

VirtualRanks launchOf(const PlacedCall& placed, const BlockSize& block) {
  VirtualRanks launch = placed.launch;
  launch.nthreads = block.nthreads;
  launch.patienceNs = block.patienceNs;
  for (std::size_t i = 0; i < placed.hasLane.size(); ++i)
    launch.workspaceBytes =
        std::max(launch.workspaceBytes, workspaceBytesOf(placed.lanes[i], launch.nthreads));
  return launch;
}

}  // namespace tutti::cuda
