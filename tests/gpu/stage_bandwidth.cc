// How fast reduceCopy moves bytes, beside the device's own copy in the same run. Bytes are those read and those
// written; copies and launches take turns, so that both meet the same clocks; medians of many. The grid is tried in
// several sizes, so that the figures say what the default should be.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "kernels/cuda/reduce_copy.h"
#include "tests/gpu/bandwidth_operands.h"
#include "tests/gpu/device.h"
#include "tests/gpu/stages.h"
#include "tests/gpu/timing.h"

namespace tutti::cuda {
namespace {

constexpr int kRepeats = 25;
constexpr int kWarmUps = 3;
constexpr std::size_t kSpareBytes = std::size_t{512} << 20;  // for the runtime

struct Aim {
  int nsources;
  double ofCopy;
};
constexpr Aim kAims[] = {{2, 0.92}, {8, 0.85}};

// In multiples of the multiprocessors; 0 is what launchReduceCopy() chooses by itself.
constexpr int kGrids[] = {0, 1, 2, 4};
constexpr std::size_t kNumGrids = std::size(kGrids);

std::string nameOfGrid(std::size_t grid) {
  return kGrids[grid] == 0 ? "default" : fmt::format("x{}", kGrids[grid]);
}

std::vector<Sum> sums() {
  std::vector<Sum> all;
  for (int nsources = 1; nsources <= kMostKernelOperands; ++nsources)
    all.push_back({DataType::f32, nsources});
  for (int nsources : {2, kMostKernelOperands}) all.push_back({DataType::bf16, nsources});
  return all;
}

// Bytes per second, the median of the repeats.
struct Rates {
  double copy = 0;
  double grids[kNumGrids] = {};
};

bool launchOn(Report& report, const ReduceCopyCall& call, std::size_t grid, int nprocessors) {
  const auto nblocks = static_cast<unsigned>(kGrids[grid] * nprocessors);
  return launched(report, launchReduceCopy(call, nblocks, nullptr), "launch of reduceCopy");
}

// False if something failed, which the report was told.
bool measure(Report& report, const BandwidthOperands& operands, const Sum& sum, int nprocessors,
             Rates& rates) {
  const ReduceCopyCall call = operands.callOf(sum);
  constexpr std::size_t kTurn = 1 + kNumGrids;  // a copy, then a launch on each grid
  std::vector<Event> events(kRepeats * kTurn + 1);
  bool ran = true;
  for (int repeat = -kWarmUps; repeat < kRepeats && ran; ++repeat) {
    for (std::size_t i = 0; i < kTurn && ran; ++i) {
      // Each event ends one piece of work and begins the next.
      if (repeat >= 0)
        ran = succeeds(report, events[static_cast<std::size_t>(repeat) * kTurn + i].record(),
                       "cudaEventRecord");
      ran = ran && (i == 0 ? succeeds(report, operands.copy(), "copy on the device")
                           : launchOn(report, call, i - 1, nprocessors));
    }
  }
  ran = ran && succeeds(report, events.back().record(), "cudaEventRecord") &&
        succeeds(report, cudaDeviceSynchronize(), "copies and launches");
  if (!ran) return false;
  const double moved = static_cast<double>(operands.bytes());
  for (std::size_t i = 0; i < kTurn; ++i) {
    std::vector<double> seconds;
    for (std::size_t repeat = 0; repeat < kRepeats; ++repeat) {
      const std::size_t begin = repeat * kTurn + i;
      seconds.push_back(events[begin + 1].secondsSince(events[begin]));
    }
    const double middle = median(seconds);
    if (middle <= 0) {
      report.fault("the events have no time between them");
      return false;
    }
    if (i == 0)
      rates.copy = 2 * moved / middle;
    else
      rates.grids[i - 1] = (sum.nsources + 1) * moved / middle;
  }
  return true;
}

// On every grid: a wrong result is a fault, and no rate means anything then.
bool gridsAreRight(Report& report, const BandwidthOperands& operands, const Sum& sum, int nprocessors) {
  for (std::size_t grid = 0; grid < kNumGrids; ++grid) {
    if (!succeeds(report, operands.poison(), "cudaMemset") ||
        !launchOn(report, operands.callOf(sum), grid, nprocessors) ||
        !succeeds(report, cudaDeviceSynchronize(), "reduceCopy"))
      return false;
    if (!operands.areRight(sum,
                           fmt::format("reduceCopy {} sum of {} sources, {} MiB each, {}", nameOf(sum.type),
                                       sum.nsources, operands.bytes() >> 20, nameOfGrid(grid))))
      return false;
  }
  return true;
}

void tell(Report& report, const BandwidthOperands& operands, const Sum& sum, const Rates& rates) {
  const std::size_t best =
      static_cast<std::size_t>(std::max_element(rates.grids, rates.grids + kNumGrids) - rates.grids);
  const double ofCopy = rates.grids[0] / rates.copy;
  std::vector<Cell> cells{nameOf(sum.type), sum.nsources, operands.bytes() >> 20, rates.copy * 1e-9};
  for (double rate : rates.grids) cells.push_back(rate * 1e-9);
  cells.push_back(100 * ofCopy);
  cells.push_back(nameOfGrid(best));
  cells.push_back(100 * rates.grids[best] / rates.copy);
  const Aim* aim = std::find_if(std::begin(kAims), std::end(kAims),
                                [&](const Aim& a) { return a.nsources == sum.nsources; });
  const bool hasAim = aim != std::end(kAims);
  cells.push_back(hasAim ? Cell(100 * aim->ofCopy) : Cell(""));
  const bool isMissed = hasAim && ofCopy < aim->ofCopy;
  cells.push_back(!hasAim ? "" : isMissed ? "MISSED" : "met");
  report.row(std::move(cells));
  if (isMissed)
    report.note(
        fmt::format("aim missed: {} sum of {} sources, {} MiB each: {:.1f} % of the copy rate, not {:.0f} %",
                    nameOf(sum.type), sum.nsources, operands.bytes() >> 20, 100 * ofCopy, 100 * aim->ofCopy));
}

// With operands of so many MiB each, as far as memory allows.
void run(Report& report, const std::vector<std::size_t>& sizes) {
  int nprocessors = 0;
  if (!succeeds(report, cudaDeviceGetAttribute(&nprocessors, cudaDevAttrMultiProcessorCount, 0),
                "cudaDeviceGetAttribute: multiprocessors"))
    return;
  report.note(fmt::format(
      "reduceCopy, sum to 1 destination; GB/s of bytes read and written, median of {}; x1, x2, x4: blocks "
      "for each multiprocessor; a missed aim fails nothing",
      kRepeats));
  report.table("Bandwidth of reduceCopy", {"type", "sources", "MiB each", "copy", "default", "x1", "x2", "x4",
                                           "% of copy", "best grid", "best %", "aim %", "aim"});
  for (std::size_t mib : sizes) {
    const std::size_t bytes = mib << 20;
    std::size_t free = 0;
    std::size_t total = 0;
    if (!succeeds(report, cudaMemGetInfo(&free, &total), "cudaMemGetInfo")) return;
    const std::size_t fit = free > kSpareBytes ? (free - kSpareBytes) / bytes : 0;
    const int nsources = static_cast<int>(std::min<std::size_t>(fit, kMostKernelOperands + 1)) - 1;
    if (nsources < kMostKernelOperands)
      report.note(fmt::format("left out: more than {} sources of {} MiB; {} MiB are free",
                              std::max(nsources, 0), mib, free >> 20));
    if (nsources < 1) continue;
    const BandwidthOperands operands(report, bytes, nsources);
    if (!operands.areWhole()) return;
    for (const Sum& sum : sums()) {
      Rates rates;
      if (sum.nsources > nsources) continue;
      if (!gridsAreRight(report, operands, sum, nprocessors)) continue;
      if (!measure(report, operands, sum, nprocessors, rates)) return;
      tell(report, operands, sum, rates);
    }
  }
}

}  // namespace

void bandwidth(Report& report) {
  run(report, {256, 1024});
}

void bandwidthSmall(Report& report) {
  run(report, {1, 20});
}

}  // namespace tutti::cuda
