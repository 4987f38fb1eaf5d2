// What the stages do with the device: its memory, launches, and calls of the runtime whose failure the report is told.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/cuda/virtual_ranks.h"
#include "tests/gpu/arena.h"
#include "tests/gpu/host_memory.h"
#include "tests/gpu/report.h"
#include "tests/gpu/virtual_communicator.h"

namespace tutti::cuda {

// What was tried and the runtime's own words; nothing if there was no error.
std::string failureOf(cudaError_t error, const std::string& what);

// As people write a version of CUDA: 13020 is 13.2.
std::string versionOf(int number);

// Whether `error` is none; otherwise it is a fault of the stage: what was tried, and the runtime's own words.
bool succeeds(Report& report, cudaError_t error, const std::string& what);

// The same for what launchReduceCopy() and launchVirtualRanks() return.
bool launched(Report& report, int error, const std::string& what);

// Memory of the device.
class DeviceBuffer {
 public:
  // Holds nothing if there is not so much, which the report is told.
  static DeviceBuffer make(Report& report, std::size_t bytes);

  explicit operator bool() const { return data_ != nullptr; }
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { cudaFree(data); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

// Memory of the host that the device copies from and to by itself, or if it cannot be had, any.
class PinnedBuffer {
 public:
  // Holds nothing if there is not so much, which the report is told.
  static PinnedBuffer make(Report& report, std::size_t bytes);

  explicit operator bool() const { return data() != nullptr; }
  std::byte* data() const { return pinned_ ? pinned_.get() : any_.data(); }

 private:
  struct Free {
    void operator()(std::byte* data) const { cudaFreeHost(data); }
  };
  std::unique_ptr<std::byte, Free> pinned_;
  HostMemory any_;
};

// An arena on the device with its copy on the host.
class DeviceArena {
 public:
  // Null if there is not so much memory, which the report is told. `report` has to outlive the arena.
  static std::unique_ptr<DeviceArena> make(Report& report, std::size_t bytes);

  Arena& arena() { return arena_; }
  bool upload();
  bool download();

 private:
  DeviceArena(Report& report, HostMemory host, DeviceBuffer device, std::size_t bytes);

  Report& report_;
  // The arena points into both.
  HostMemory host_;
  DeviceBuffer device_;
  Arena arena_;
};

// Blocks of a cooperative launch.
struct BlockSize {
  unsigned nthreads = kMostBlockThreads;
  std::uint64_t patienceNs = 2'000'000'000;
};

// Kernels under a sanitizer are slower by far, so lanes have more patience, and may want more registers than a block of
// full size leaves a thread.
inline constexpr BlockSize kSanitizedBlock{128, 20'000'000'000};

// The launch of a placed call, with as much workspace as its lanes want.
VirtualRanks launchOf(const PlacedCall& placed, const BlockSize& block);

}  // namespace tutti::cuda
