// What the device is, whether the cooperative form can run at all, and that one kernel of ours runs: the build has
// code for this device, and the driver takes it.
#include <sys/utsname.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/cuda/reduce_copy.h"
#include "tests/gpu/device.h"
#include "tests/gpu/stages.h"

namespace tutti::cuda {
namespace {

constexpr std::pair<cudaDeviceAttr, const char*> kAttributes[] = {
    {cudaDevAttrMultiProcessorCount, "multiprocessors"},
    {cudaDevAttrClockRate, "clock, kHz"},
    {cudaDevAttrMemoryClockRate, "memory clock, kHz"},
    {cudaDevAttrGlobalMemoryBusWidth, "memory bus, bits"},
    {cudaDevAttrL2CacheSize, "second-level cache, bytes"},
    {cudaDevAttrMaxSharedMemoryPerBlockOptin, "shared memory of a block, bytes"},
    {cudaDevAttrMaxRegistersPerMultiprocessor, "registers of a multiprocessor"},
    {cudaDevAttrMaxThreadsPerMultiProcessor, "threads of a multiprocessor"},
    {cudaDevAttrEccEnabled, "error correction"},
};

// Copies a few bytes by the smallest launch there is.
void runOneKernel(Report& report) {
  constexpr std::size_t kBytes = 4096;
  const DeviceBuffer from = DeviceBuffer::make(report, kBytes);
  const DeviceBuffer to = DeviceBuffer::make(report, kBytes);
  if (!from || !to) return;
  std::vector<std::byte> sent(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 256);
  std::vector<std::byte> got(kBytes);
  ReduceCopyCall call{};
  call.reduction = {DataType::u8, Operation::sum, 1};
  call.count = kBytes;
  call.nsources = 1;
  call.ndestinations = 1;
  call.sources[0] = {from.data(), Form::raw};
  call.destinations[0] = {to.data(), Form::result};
  if (!succeeds(report, cudaMemcpy(from.data(), sent.data(), kBytes, cudaMemcpyHostToDevice),
                "copy to the device") ||
      !launched(report, launchReduceCopy(call, 0, nullptr), "launch of a first kernel") ||
      !succeeds(report, cudaDeviceSynchronize(), "a first kernel") ||
      !succeeds(report, cudaMemcpy(got.data(), to.data(), kBytes, cudaMemcpyDeviceToHost),
                "copy from the device"))
    return;
  if (got != sent)
    report.fault("a first kernel copied wrongly");
  else
    report.fact("a first kernel", "runs");
}

}  // namespace

void probe(Report& report) {
  cudaDeviceProp properties;
  int runtime = 0;
  int driver = 0;
  std::size_t free = 0;
  std::size_t total = 0;
  int cooperative = 0;
  if (!succeeds(report, cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties") ||
      !succeeds(report, cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion") ||
      !succeeds(report, cudaDriverGetVersion(&driver), "cudaDriverGetVersion") ||
      !succeeds(report, cudaMemGetInfo(&free, &total), "cudaMemGetInfo") ||
      !succeeds(report, cudaDeviceGetAttribute(&cooperative, cudaDevAttrCooperativeLaunch, 0),
                "cudaDeviceGetAttribute: cooperative launch"))
    return;
  report.fact("device", properties.name);
  report.fact("architecture", "sm_" + std::to_string(properties.major) + std::to_string(properties.minor));
  report.fact("driver", versionOf(driver));
  report.fact("runtime", versionOf(runtime));
  report.fact("memory, MiB", total >> 20);
  report.fact("free memory, MiB", free >> 20);
  for (const auto& [attribute, name] : kAttributes) {
    int value = 0;
    // Only told: what a device does not know is no failure.
    if (cudaDeviceGetAttribute(&value, attribute, 0) == cudaSuccess)
      report.fact(name, value);
    else
      cudaGetLastError();
  }
  report.fact("cooperative launch", cooperative != 0 ? "yes" : "no");
  if (cooperative == 0) report.fault("no cooperative launch: the cooperative form cannot run here");
  utsname system;
  if (uname(&system) == 0)
    report.fact("kernel of the host", std::string(system.sysname) + " " + system.release);
  runOneKernel(report);
}

}  // namespace tutti::cuda
