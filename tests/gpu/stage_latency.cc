// How long an all-reduce of virtual ranks takes: f32 sums by one-shot, two-shot and ring, small and large. A launch
// makes the call many times and another one makes it a few times; what they differ by has nothing of a launch in it.
// Results are compared with those of a host thread.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/gpu/device.h"
#include "tests/gpu/host_memory.h"
#include "tests/gpu/host_ranks.h"
#include "tests/gpu/stages.h"
#include "tests/gpu/timing.h"

namespace tutti::cuda {
namespace {

constexpr std::uint32_t kSlots = 4;
constexpr std::size_t kMostSlotBytes = std::size_t{128} << 10;
constexpr std::size_t kLargeBytes = std::size_t{256} << 10;  // worth more than one channel
constexpr std::size_t kAimBytes = 1024;
constexpr double kAim = 0.5;  // flagged words beside slots

struct Size {
  std::vector<int> nranks;
  std::vector<std::size_t> bytes;
  std::vector<int> manyChannels;  // for large calls, beside 1
  int nsamples;
  unsigned fewCalls;  // of a launch
  unsigned manyCalls;
  unsigned manyLargeCalls;
};

struct Case {
  int nranks;
  std::size_t bytes;
  Algorithm algorithm;
  MailboxFormat format = MailboxFormat::slots;
  int channels = 1;
};

// Microseconds.
struct Times {
  double call;
  double launch;  // what it takes beside the calls
};

std::vector<Case> casesOf(const Size& size) {
  std::vector<Case> cases;
  for (int nranks : size.nranks) {
    for (std::size_t bytes : size.bytes) {
      cases.push_back({nranks, bytes, Algorithm::oneShot});
      cases.push_back({nranks, bytes, Algorithm::oneShot, MailboxFormat::words});
      for (Algorithm algorithm : {Algorithm::twoShot, Algorithm::twoShotWindow, Algorithm::ring})
        cases.push_back({nranks, bytes, algorithm});
      if (bytes < kLargeBytes) continue;
      for (Algorithm algorithm : {Algorithm::twoShot, Algorithm::ring}) {
        for (int channels : size.manyChannels)
          cases.push_back({nranks, bytes, algorithm, MailboxFormat::slots, channels});
      }
    }
  }
  return cases;
}

std::string nameOf(const Case& c) {
  return std::string(nameOf(c.algorithm)) + (c.format == MailboxFormat::words ? " as words" : "");
}

// A message fits into a slot, or the slot is as large as slots get.
std::size_t slotBytesOf(const Case& c) {
  const auto nparts = c.algorithm == Algorithm::oneShot
                          ? std::size_t{1}
                          : static_cast<std::size_t>(c.nranks) * static_cast<std::size_t>(c.channels);
  const std::size_t bytes = (c.bytes / nparts + 255) / 256 * 256 + 256;
  return c.format == MailboxFormat::words ? bytes : std::min(bytes, kMostSlotBytes);
}

// More than a case takes of an arena: links between any two ranks, input, output and as much again for scratch.
std::size_t roomFor(const Case& c) {
  const auto nranks = static_cast<std::size_t>(c.nranks);
  const std::size_t nlinks = nranks * nranks * static_cast<std::size_t>(c.channels);
  return nlinks * (kSlots * (slotBytesOf(c) + 256) + 4096) + nranks * 4 * c.bytes + (std::size_t{4} << 20);
}

class Latency {
 public:
  Latency(Report& report, Size size) : report_(report), size_(std::move(size)) {}

  void run() {
    if (!attribute(cudaDevAttrMultiProcessorCount, "multiprocessors", nprocessors_) ||
        !attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, "shared memory of a block", sharedBytes_))
      return;
    report_.note(fmt::format(
        "all-reduce, f32 sum, virtual ranks; microseconds of a call inside a launch, the median of {}; "
        "'launch' is what a launch takes beside its calls",
        size_.nsamples));
    report_.table("Latency of all-reduce", {"ranks", "bytes", "algorithm", "channels", "microseconds"});
    for (const Case& c : casesOf(size_)) {
      const std::optional<Times> times = measure(c);
      if (broken_) {
        report_.note("stopped: after a failure the other cases would only fail, too");
        return;
      }
      if (times.has_value()) tell(c, *times);
    }
    tellAims();
  }

 private:
  bool attribute(cudaDeviceAttr which, const char* name, int& value) {
    return succeeds(report_, cudaDeviceGetAttribute(&value, which, 0),
                    std::string("cudaDeviceGetAttribute: ") + name);
  }

  // Nothing if it was left out, or is wrong, or did not come to its end, after which the device is `broken_`.
  std::optional<Times> measure(const Case& c) {
    // Words are staged in shared memory: a message of each link, in and out.
    const auto nends = 2 * static_cast<std::size_t>(c.nranks - 1);
    if (c.format == MailboxFormat::words && nends * c.bytes > static_cast<std::size_t>(sharedBytes_))
      return leftOut(c);
    const auto memory = DeviceArena::make(report_, roomFor(c));
    if (memory == nullptr) return failed();
    VirtualCommunicator communicator(memory->arena(), c.nranks, kSlots, slotBytesOf(c));
    VirtualCall call{Collective::allReduce, c.algorithm, c.bytes / sizeof(float)};
    call.channels = c.channels;
    call.format = c.format;
    if (!communicator.serves(call)) return std::nullopt;
    PlacedCall placed = communicator.place(call);
    const VirtualRanks launch = launchOf(placed, {kMostBlockThreads, 500'000'000});
    if (launch.workspaceBytes > static_cast<std::size_t>(sharedBytes_)) return leftOut(c);
    if (launch.nranks * launch.nlanes > static_cast<unsigned>(nprocessors_)) {
      report_.note(fmt::format("left out: {}, more lanes than multiprocessors", describe(call)));
      return std::nullopt;
    }

    const unsigned manyCalls = c.bytes < kLargeBytes ? size_.manyCalls : size_.manyLargeCalls;
    // The first launch also says whether it hangs, before many would.
    if (!memory->upload() || !launchCalls(placed, launch, size_.fewCalls) ||
        !ended(*memory, communicator, placed))
      return failed();
    std::vector<Event> events(2 * static_cast<std::size_t>(size_.nsamples) + 1);
    for (std::size_t i = 0; i + 1 < events.size(); ++i) {
      if (!succeeds(report_, events[i].record(), "cudaEventRecord") ||
          !launchCalls(placed, launch, i % 2 == 0 ? size_.fewCalls : manyCalls))
        return failed();
    }
    if (!succeeds(report_, events.back().record(), "cudaEventRecord") ||
        !ended(*memory, communicator, placed))
      return failed();
    if (!isRight(c, *memory, communicator, placed)) return std::nullopt;

    std::vector<double> calls;
    std::vector<double> few;
    for (std::size_t i = 0; i + 2 < events.size(); i += 2) {
      few.push_back(events[i + 1].secondsSince(events[i]) * 1e6);
      const double many = events[i + 2].secondsSince(events[i + 1]) * 1e6;
      calls.push_back((many - few.back()) / (manyCalls - size_.fewCalls));
    }
    const double perCall = median(calls);
    if (perCall <= 0 || median(few) <= 0) {
      report_.fault(fmt::format("{}: a call took {:g} microseconds, a launch of {} took {:g}",
                                describe(placed.call), perCall, size_.fewCalls, median(few)));
      return std::nullopt;
    }
    return Times{perCall, median(few) - perCall * size_.fewCalls};
  }

  // Sizes rise, so one note says it of all that follow.
  std::optional<Times> leftOut(const Case& c) {
    if (doNotFit_.insert({c.nranks, nameOf(c)}).second)
      report_.note(fmt::format(
          "left out: {} of {} ranks from {} bytes on, whose workspace is more than the {} bytes of shared "
          "memory that a block may have",
          nameOf(c), c.nranks, c.bytes, sharedBytes_));
    return std::nullopt;
  }

  std::optional<Times> failed() {
    broken_ = true;
    return std::nullopt;
  }

  bool launchCalls(PlacedCall& placed, VirtualRanks launch, unsigned ncalls) {
    launch.repeats = placed.launch.repeats = placed.call.repeats = ncalls;
    return launched(report_, launchVirtualRanks(launch, nullptr), describe(placed.call));
  }

  // Waits for the launches and looks at the last one.
  bool ended(DeviceArena& memory, const VirtualCommunicator& communicator, const PlacedCall& placed) {
    if (!succeeds(report_, cudaDeviceSynchronize(), describe(placed.call)) || !memory.download())
      return false;
    return isFree(communicator.faultsOf(placed));
  }

  bool isFree(const std::vector<std::string>& faults) {
    for (const std::string& fault : faults) report_.fault(fault);
    return faults.empty();
  }

  bool isRight(const Case& c, DeviceArena& memory, const VirtualCommunicator& communicator,
               const PlacedCall& placed) {
    const HostMemory host(roomFor(c));
    if (!host) return isFree({"no memory on the host for the golden results"});
    Arena arena(host.data(), host.data(), roomFor(c));
    VirtualCommunicator golden(arena, c.nranks, kSlots, slotBytesOf(c));
    VirtualCall call = placed.call;
    call.repeats = 1;
    const std::vector<PlacedCall> wanted{golden.place(call, MailboxFormat::slots)};
    bool right = runOnHost(wanted) || isFree({"the golden results did not come to their end"});
    right = isFree(differencesOf(placed, wanted[0])) && right;
    std::vector<std::string> faults = communicator.faultsOfLinks();
    if (!memory.arena().areGuardsUntouched()) faults.push_back("bytes between the buffers were written");
    for (std::string& fault : faults) fault = describe(call) + ": " + fault;
    return isFree(faults) && right;
  }

  void tell(const Case& c, const Times& times) {
    if (c.algorithm == Algorithm::oneShot && c.bytes == size_.bytes.front() &&
        c.format == MailboxFormat::slots)
      report_.row({c.nranks, c.bytes, "launch", c.channels, times.launch});
    report_.row({c.nranks, c.bytes, nameOf(c), c.channels, times.call});
    if (c.bytes == kAimBytes && c.algorithm == Algorithm::oneShot)
      (c.format == MailboxFormat::words ? asWords_ : asSlots_)[c.nranks] = times.call;
  }

  void tellAims() {
    report_.table(fmt::format("One-shot of {} bytes", kAimBytes),
                  {"ranks", "slots", "words", "words / slots", "aim", "result"});
    for (const auto& [nranks, slots] : asSlots_) {
      if (!asWords_.contains(nranks)) continue;
      const double words = asWords_[nranks];
      const bool isMet = words <= kAim * slots;
      report_.row({nranks, slots, words, words / slots, kAim, isMet ? "met" : "MISSED"});
      if (!isMet)
        report_.note(fmt::format("aim missed: {} ranks, {} bytes: words take {:.2f} of slots, not {}", nranks,
                                 kAimBytes, words / slots, kAim));
    }
  }

  Report& report_;
  const Size size_;
  int nprocessors_ = 0;
  int sharedBytes_ = 0;
  bool broken_ = false;
  std::map<int, double> asSlots_;  // by ranks, of kAimBytes
  std::map<int, double> asWords_;
  std::set<std::pair<int, std::string>> doNotFit_;  // ranks and names of cases that are too large by now
};

}  // namespace

void latency(Report& report) {
  constexpr std::size_t kKiB = 1024;
  const std::vector<std::size_t> bytes = {8,         64,         kKiB,        8 * kKiB,
                                          64 * kKiB, 256 * kKiB, 1024 * kKiB, 4096 * kKiB};
  Latency(report, {{2, 4, 8}, bytes, {8, 16}, 20, 2, 52, 12}).run();
}

void latencySmall(Report& report) {
  Latency(report, {{2, 4}, {8, kAimBytes, 128 * std::size_t{1024}}, {}, 3, 1, 2, 2}).run();
}

}  // namespace tutti::cuda
