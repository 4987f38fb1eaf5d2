// What a block of the cooperative form does with a lane, by emulated blocks: everything of it but the CUDA
// spelling of barriers and clocks. Launch after launch on the same links, because the counters have to come
// back out of the block's workspace.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/memory_order.h"
#include "kernels/cuda/reduce_copy.cuh"
#include "kernels/cuda/virtual_lane-inl.h"
#include "tests/emulation/machine.h"
#include "tests/gpu/virtual_communicator.h"

namespace tutti::cuda {
namespace {

using emulation::Thread;

class EmulatedBlockContext {
 public:
  static constexpr bool kOneThread = false;
  static constexpr bool kTakesWords = false;
  static constexpr bool kSharedWorkspace = true;

  EmulatedBlockContext(Thread& thread, std::uint64_t patience) : thread_(thread), patience_(patience) {}

  std::uint32_t tid() const { return thread_.tid(); }
  std::uint32_t ntid() const { return thread_.ntid(); }
  void sync() { thread_.sync(); }
  bool every(bool own) { return thread_.every(own); }
  std::uint64_t loadAcquire(const std::uint64_t* word) {
    thread_.point();
    return tutti::loadAcquire(word);
  }
  void storeRelease(std::uint64_t* word, std::uint64_t value) {
    thread_.point();
    tutti::storeRelease(word, value);
    thread_.progress();
    thread_.point();
  }
  void suspect(const MailboxEnd& end) {
    suspicious_ = true;
    thread_.suspect(end);
  }
  static constexpr bool isAbandoned() { return false; }
  void reduceCopy(const Reduction& reduction, const Source* sources, int nsources,
                  const Destination* destinations, int ndestinations, std::uint64_t count) {
    thread_.point();
    cuda::reduceCopy<DataType::f32, Operation::sum>(reduction, sources, nsources, destinations, ndestinations,
                                                    count, {tid(), ntid()});
    thread_.progress();
    thread_.point();
  }
  void reduceCopyAlone(const Reduction& reduction, const Source* sources, int nsources,
                       const Destination* destinations, int ndestinations, std::uint64_t count) {
    reduceCopyElements<DataType::f32, Operation::sum>(reduction, sources, nsources, destinations,
                                                      ndestinations, 0, count, 1);
  }
  bool mayWait() {
    if (++misses_ > patience_) return false;
    if (patience_ != ~std::uint64_t{0})
      thread_.progress();  // or the machine ends a play of nothing but waiting
    thread_.miss();
    return true;
  }
  bool anySuspicion() { return !thread_.every(!suspicious_); }

 private:
  Thread& thread_;
  std::uint64_t patience_;
  std::uint64_t misses_ = 0;
  bool suspicious_ = false;
};

struct alignas(kApart) Piece {
  std::byte bytes[kApart];
};

// What a launch does, by emulated blocks.
void runBlock(Thread& thread, const VirtualRanks& launch, std::vector<Piece>& workspace,
              std::uint64_t patience) {
  const auto lane = static_cast<std::size_t>(thread.block());
  const auto rank = static_cast<std::size_t>(thread.rank());
  if (lane >= launch.nlanes) return;
  const std::size_t index = rank * launch.nlanes + lane;
  if (launch.lanes[index].program.nsteps == 0) return;
  EmulatedBlockContext context(thread, patience);
  runVirtualLane(context, launch.lanes[index], launch.calls[rank],
                 reinterpret_cast<std::byte*>(workspace.data()), &launch.outcomes[index]);
}

// All calls, one after another on each rank's stream.
class Play {
 public:
  Play(int nranks, int nthreads, std::uint32_t nslots, std::uint64_t slotBytes,
       const std::vector<VirtualCall>& calls)
      : nranks_(nranks),
        nthreads_(nthreads),
        memory_(kArenaBytes / sizeof(Piece)),
        arena_(memory_.front().bytes, memory_.front().bytes, kArenaBytes),
        communicator_(arena_, nranks, nslots, slotBytes) {
    for (const VirtualCall& call : calls) calls_.push_back(communicator_.place(call));
    for (const PlacedCall& call : calls_) nlanes_ = std::max(nlanes_, call.launch.nlanes);
  }

  const std::vector<PlacedCall>& calls() const { return calls_; }

  emulation::Played run(std::uint64_t seed, std::uint64_t patience = ~std::uint64_t{0}) {
    // Exactly as much as is asked for, or address sanitizer would see nothing; poisoned, as shared memory may be.
    std::vector<std::vector<std::vector<Piece>>> workspaces(calls_.size());
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      const VirtualRanks& launch = calls_[c].launch;
      for (std::size_t i = 0; i < launch.nranks * launch.nlanes; ++i) {
        const std::size_t bytes =
            workspaceOf(launch.lanes[i], static_cast<unsigned>(nthreads_), nullptr).bytes;
        auto& workspace = workspaces[c].emplace_back((bytes + sizeof(Piece) - 1) / sizeof(Piece));
        std::memset(static_cast<void*>(workspace.data()), 0xc3, workspace.size() * sizeof(Piece));
      }
    }
    return emulation::playOnFibers({nranks_, static_cast<int>(nlanes_), nthreads_}, seed,
                                   static_cast<int>(calls_.size()), [&](Thread& thread) {
                                     for (std::size_t c = 0; c < calls_.size(); ++c) {
                                       const VirtualRanks& launch = calls_[c].launch;
                                       const auto index =
                                           static_cast<unsigned>(thread.rank()) * launch.nlanes +
                                           static_cast<unsigned>(thread.block());
                                       thread.enterCall(static_cast<int>(c));
                                       if (static_cast<unsigned>(thread.block()) < launch.nlanes)
                                         runBlock(thread, launch, workspaces[c][index], patience);
                                       thread.syncRank();
                                     }
                                     thread.enterCall(-1);
                                   });
  }

  void check() const {
    for (const PlacedCall& call : calls_) {
      for (const std::string& fault : communicator_.faultsOf(call)) ADD_FAILURE() << fault;
    }
    for (const std::string& fault : communicator_.faultsOfLinks()) ADD_FAILURE() << fault;
    EXPECT_TRUE(arena_.areGuardsUntouched());
  }

 private:
  static constexpr std::size_t kArenaBytes = 1 << 20;

  const int nranks_;
  const int nthreads_;
  unsigned nlanes_ = 1;
  std::vector<Piece> memory_;
  Arena arena_;
  VirtualCommunicator communicator_;
  std::vector<PlacedCall> calls_;
};

class VirtualLanes : public testing::TestWithParam<std::tuple<Collective, Algorithm, int>> {};

TEST_P(VirtualLanes, GiveWhatTheCallSaysLaunchAfterLaunch) {
  const auto [collective, algorithm, nranks] = GetParam();
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const int nthreads = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 4 : 8;
    std::vector<VirtualCall> calls;
    const bool exchanges = algorithm == Algorithm::twoShotWindow;
    for (std::uint64_t count : {seed * 5 + 3, std::uint64_t{0}, std::uint64_t{131}}) {
      if (exchanges) calls.push_back({Collective::barrier, Algorithm::oneShot, 0});
      calls.push_back({collective, algorithm, count,
                       isRooted(collective) ? static_cast<int>(count % static_cast<unsigned>(nranks)) : 0});
    }
    Play play(nranks, nthreads, 2 + seed % 2, seed % 2 == 0 ? 512 : 64, calls);
    const emulation::Played played = play.run(seed);
    ASSERT_FALSE(played.stalled) << "seed " << seed;
    EXPECT_EQ(played.suspicions, 0u);
    play.check();
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

std::vector<std::tuple<Collective, Algorithm, int>> everything() {
  std::vector<std::tuple<Collective, Algorithm, int>> all;
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (int a = 0; a < kAlgorithms; ++a) {
      const auto algorithm = static_cast<Algorithm>(a);
      for (int nranks : {2, 3, 4, 8}) {
        if (collective != Collective::barrier && serves(algorithm, collective, nranks))
          all.emplace_back(collective, algorithm, nranks);
      }
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Fibers, VirtualLanes, testing::ValuesIn(everything()), [](const auto& info) {
  std::string name = fmt::format("{}_{}_{}", nameOf(std::get<0>(info.param)), nameOf(std::get<1>(info.param)),
                                 std::get<2>(info.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A wait that never ends is a lane that is not done and says where it stands; the links are put back.
TEST(Deadline, MakesAHangAFailedCase) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    Play play(3, 4, 2, 64, {{Collective::allReduce, Algorithm::ring, 50}});
    const PlacedCall& call = play.calls()[0];
    call.calls[1].tag ^= 0x5a5a;  // another call than its peers make
    const emulation::Played played = play.run(seed, 200);
    EXPECT_FALSE(played.stalled);
    bool suspicious = false;
    for (std::size_t i = 0; i < call.hasLane.size(); ++i) {
      EXPECT_FALSE(call.outcomes[i].done);
      suspicious |= call.outcomes[i].suspicious;
    }
    EXPECT_TRUE(suspicious);
  }
}

}  // namespace
}  // namespace tutti::cuda
