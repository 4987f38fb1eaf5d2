// The program that tests/gpu/run starts, stage by stage, on a machine with a GPU. It needs nothing of CUDA to start;
// without a GPU it says so and ends with a status of its own.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "tests/gpu/device.h"
#include "tests/gpu/report.h"
#include "tests/gpu/stages.h"

namespace tutti::cuda {
namespace {

constexpr int kPassed = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kNoGpu = 77;  // what Meson, as Automake, takes for "skipped"

struct Stage {
  const char* name;
  void (*run)(Report& report);
  const char* shows;
};

constexpr Stage kStages[] = {
    {"probe", probe, "what the device is, and that a kernel runs there"},
    {"smoke", smoke, "every algorithm on 4 ranks, reduceCopy of all types and operations"},
    {"smoke_small", smokeSmall, "less of the same, for tools that make kernels slow"},
    {"matrix", matrix, "all types, operations, algorithms and formats, against golden results"},
    {"matrix_small", matrixSmall, "less of the same, for tools that make kernels slow"},
    {"bandwidth", bandwidth, "reduceCopy of 1 to 8 sources beside the device's own copy"},
    {"bandwidth_small", bandwidthSmall, "the same on too little memory to mean anything, to try the stage"},
    {"latency", latency, "an all-reduce of 2, 4 and 8 ranks, 8 bytes to 4 MiB"},
    {"latency_small", latencySmall, "the same with less, to try the stage"},
};

const Stage* stageOf(const char* name) {
  for (const Stage& stage : kStages) {
    if (std::strcmp(name, stage.name) == 0) return &stage;
  }
  return nullptr;
}

int usage(const char* program) {
  std::fprintf(stderr, "usage: %s STAGE [--json FILE]\n", program);
  for (const Stage& stage : kStages) std::fprintf(stderr, "  %-16s %s\n", stage.name, stage.shows);
  std::fprintf(stderr, "  Status: %d passed, %d failed, %d not begun, %d there is no GPU.\n", kPassed,
               kFailed, kUsage, kNoGpu);
  return kUsage;
}

int run(int argc, char** argv) {
  const bool hasFile = argc == 4 && std::strcmp(argv[2], "--json") == 0;
  if (argc != 2 && !hasFile) return usage(argv[0]);
  const Stage* stage = stageOf(argv[1]);
  if (stage == nullptr) {
    std::fprintf(stderr, "%s: there is no stage '%s'\n", argv[0], argv[1]);
    return usage(argv[0]);
  }
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  int driver = 0;  // stays so where there is none
  cudaDriverGetVersion(&driver);
  const bool noDriver = error == cudaErrorInsufficientDriver && driver == 0;
  if (noDriver || error == cudaErrorNoDevice || (error == cudaSuccess && devices == 0)) {
    std::printf("no GPU: %s\n", noDriver ? "no driver for one is installed" : cudaGetErrorString(error));
    return kNoGpu;
  }
  Report report(stage->name, hasFile ? argv[3] : "");
  if (error == cudaSuccess)
    stage->run(report);
  else
    report.fault(failureOf(error, "cudaGetDeviceCount, driver for CUDA " + versionOf(driver)));
  report.finish();
  return report.nfaults() == 0 ? kPassed : kFailed;
}

}  // namespace
}  // namespace tutti::cuda

int main(int argc, char** argv) {
  return tutti::cuda::run(argc, argv);
}
