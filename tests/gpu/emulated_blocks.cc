// See emulated_blocks.h.
#include "tests/gpu/emulated_blocks.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/memory_order.h"
#include "kernels/cuda/virtual_lane-inl.h"
#include "tests/gpu/device_functions.h"
#include "tests/gpu/host_memory.h"

namespace tutti::cuda {
namespace {

using emulation::Thread;

constexpr std::uint64_t kNoDeadline = ~std::uint64_t{0};
constexpr std::uint64_t kPatience = 200;  // misses

class EmulatedBlockContext {
 public:
  static constexpr bool kOneThread = false;
  static constexpr bool kTakesWords = true;
  static constexpr bool kSharedWorkspace = true;

  EmulatedBlockContext(Thread& thread, const VirtualRanks& launch, std::uint64_t patience)
      : thread_(thread),
        reduceCopy_(deviceReduceCopyOf(launch.type, launch.operation)),
        reduceCopyStaged_(deviceReduceCopyStagedOf(launch.type, launch.operation)),
        patience_(patience) {}

  std::uint32_t tid() const { return thread_.tid(); }
  std::uint32_t ntid() const { return thread_.ntid(); }
  void sync() { thread_.sync(); }
  bool every(bool own) { return thread_.every(own); }
  std::uint64_t loadAcquire(const std::uint64_t* word) {
    thread_.point();
    return tutti::loadAcquire(word);
  }
  void storeRelease(std::uint64_t* word, std::uint64_t value) {
    stored([&] { tutti::storeRelease(word, value); });
  }
  std::uint64_t loadRelaxed(const std::uint64_t* word) {
    thread_.point();
    return tutti::loadRelaxed(word);
  }
  void storeRelaxed(std::uint64_t* word, std::uint64_t value) {
    stored([&] { tutti::storeRelaxed(word, value); });
  }
  void suspect(const MailboxEnd& end) {
    suspicious_ = true;
    thread_.suspect(end);
  }
  static constexpr bool isAbandoned() { return false; }
  void reduceCopy(const Reduction& reduction, const Source* sources, int nsources,
                  const Destination* destinations, int ndestinations, std::uint64_t count) {
    stored([&] {
      reduceCopy_(reduction, sources, nsources, destinations, ndestinations, count, {tid(), ntid()});
    });
  }
  void reduceCopyStaged(const Reduction& reduction, const Source* sources, int nsources,
                        const Destination* destinations, int ndestinations, std::uint64_t count) {
    stored([&] {
      reduceCopyStaged_(reduction, sources, nsources, destinations, ndestinations, count, {tid(), ntid()});
    });
  }
  void reduceCopyAlone(const Reduction& reduction, const Source* sources, int nsources,
                       const Destination* destinations, int ndestinations, std::uint64_t count) {
    reduceCopyReference(reduction, sources, nsources, destinations, ndestinations, 0, count, 1);
  }
  bool mayWait() {
    if (patience_ != kNoDeadline) {
      if (++misses_ > patience_) return false;
      thread_.progress();  // or the machine ends a play of nothing but waiting
    }
    thread_.miss();
    return true;
  }
  bool anySuspicion() { return !thread_.every(!suspicious_); }

 private:
  // With moments before and after it at which anybody may run.
  template <class Store>
  void stored(const Store& store) {
    thread_.point();
    store();
    thread_.progress();
    thread_.point();
  }

  Thread& thread_;
  DeviceReduceCopy reduceCopy_;
  DeviceReduceCopy reduceCopyStaged_;
  std::uint64_t patience_;
  std::uint64_t misses_ = 0;
  bool suspicious_ = false;
};

// Exactly as much as a block asks for, or address sanitizer would see nothing; poisoned, as shared memory may
// be.
HostMemory workspaceFor(const VirtualLane& lane, int nthreads) {
  const std::size_t bytes = workspaceOf(lane, static_cast<unsigned>(nthreads), nullptr).bytes;
  HostMemory memory(bytes);
  std::memset(memory.data(), 0xc3, bytes);
  return memory;
}

}  // namespace

emulation::Played runEmulated(std::span<const VirtualRanks> launches, const EmulatedBlocks& blocks) {
  std::vector<std::vector<HostMemory>> workspaces(launches.size());
  unsigned nlanes = 1;
  for (std::size_t c = 0; c < launches.size(); ++c) {
    const VirtualRanks& launch = launches[c];
    nlanes = std::max(nlanes, launch.nlanes);
    for (std::size_t i = 0; i < launch.nranks * launch.nlanes; ++i)
      workspaces[c].push_back(workspaceFor(launch.lanes[i], blocks.nthreads));
  }
  const auto runBlock = [&](Thread& thread, std::size_t c) {
    const VirtualRanks& launch = launches[c];
    const auto lane = static_cast<unsigned>(thread.block());
    const auto rank = static_cast<unsigned>(thread.rank());
    const std::size_t index = rank * launch.nlanes + lane;
    if (lane >= launch.nlanes || launch.lanes[index].program.nsteps == 0) return;
    EmulatedBlockContext context(thread, launch, blocks.hasDeadline ? kPatience : kNoDeadline);
    runVirtualLane(context, launch.lanes[index], launch.calls[rank], launch.repeats,
                   workspaces[c][index].data(), &launch.outcomes[index]);
  };
  const int nranks = launches.empty() ? 1 : static_cast<int>(launches[0].nranks);
  const emulation::Grid grid{nranks, static_cast<int>(nlanes), blocks.nthreads};
  return emulation::playOnFibers(grid, blocks.seed, static_cast<int>(launches.size()), [&](Thread& thread) {
    for (std::size_t c = 0; c < launches.size(); ++c) {
      thread.enterCall(static_cast<int>(c));
      runBlock(thread, c);
      thread.syncRank();
    }
    thread.enterCall(-1);
  });
}

}  // namespace tutti::cuda
