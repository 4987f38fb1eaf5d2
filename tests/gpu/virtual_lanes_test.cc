// What a block of the cooperative form does with a lane, by emulated blocks. Launch after launch on the same
// links, because the counters have to come back out of the block's workspace.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/gpu/emulated_blocks.h"
#include "tests/gpu/host_memory.h"
#include "tests/gpu/host_ranks.h"

namespace tutti::cuda {
namespace {

// A communicator in host memory.
class HostCommunicator {
 public:
  HostCommunicator(int nranks, std::uint32_t nslots, std::uint64_t slotBytes)
      : communicator_(arena_, nranks, nslots, slotBytes) {}

  VirtualCommunicator& operator*() { return communicator_; }
  VirtualCommunicator* operator->() { return &communicator_; }

  void checkLinks() const {
    for (const std::string& fault : communicator_.faultsOfLinks()) ADD_FAILURE() << fault;
    EXPECT_TRUE(arena_.areGuardsUntouched());
  }

 private:
  static constexpr std::size_t kArenaBytes = 2 << 20;

  HostMemory memory_{kArenaBytes};
  Arena arena_{memory_.data(), memory_.data(), kArenaBytes};
  VirtualCommunicator communicator_;
};

// Emulated blocks give what the calls say, and what a host thread makes of the same schedules, bit for bit.
class Comparison {
 public:
  Comparison(int nranks, std::uint32_t nslots, std::uint64_t slotBytes)
      : blocks_(nranks, nslots, slotBytes), host_(nranks, nslots, slotBytes) {}

  bool serves(const VirtualCall& call) { return blocks_->serves(call); }
  // On windows after the exchange of their places, as a call does it.
  void add(const VirtualCall& call) {
    if (call.algorithm == Algorithm::twoShotWindow) place({Collective::barrier, Algorithm::oneShot, 0});
    place(call);
  }
  void check(int nthreads, std::uint64_t seed) {
    const emulation::Played played = runEmulated(launchesOf(calls_), {nthreads, seed});
    ASSERT_FALSE(played.stalled);
    EXPECT_EQ(played.suspicions, 0u);
    EXPECT_TRUE(runOnHost(golden_));
    for (std::size_t c = 0; c < calls_.size(); ++c) {
      expectNone(blocks_->faultsOf(calls_[c]));
      expectNone(host_->faultsOf(golden_[c]));
      expectNone(differencesOf(calls_[c], golden_[c]));
      if (calls_[c].call.exact) expectNone(host_->faultsOfExact(golden_[c]));
    }
    blocks_.checkLinks();
    host_.checkLinks();
  }

 private:
  static void expectNone(const std::vector<std::string>& faults) {
    for (const std::string& fault : faults) ADD_FAILURE() << fault;
  }
  void place(const VirtualCall& call) {
    calls_.push_back(blocks_->place(call));
    golden_.push_back(host_->place(call, MailboxFormat::slots));
  }

  HostCommunicator blocks_;
  HostCommunicator host_;
  std::vector<PlacedCall> calls_;
  std::vector<PlacedCall> golden_;
};

class VirtualLanes : public testing::TestWithParam<std::tuple<Collective, Algorithm, int>> {};

TEST_P(VirtualLanes, GiveWhatTheCallSaysLaunchAfterLaunch) {
  const auto [collective, algorithm, nranks] = GetParam();
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const int nthreads = seed % 3 == 0 ? 1 : seed % 3 == 1 ? 4 : 8;
    Comparison comparison(nranks, 2 + seed % 2, seed % 2 == 0 ? 512 : 64);
    for (std::uint64_t count : {seed * 5 + 3, std::uint64_t{0}, std::uint64_t{131}}) {
      VirtualCall call{collective, algorithm, count};
      if (isRooted(collective)) call.root = static_cast<int>(count % static_cast<unsigned>(nranks));
      call.exact = true;
      call.repeats = seed == 5 ? 3 : 1;
      comparison.add(call);
      // The same as words, where it may travel so, in between.
      call.format = MailboxFormat::words;
      if (comparison.serves(call)) comparison.add(call);
    }
    comparison.check(nthreads, seed);
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

TEST(VirtualLanes, TravelAsWordsWhereTheyMay) {
  HostCommunicator communicator(4, 2, 512);
  const auto served = [&](Algorithm algorithm, std::uint64_t count) {
    VirtualCall call{Collective::allReduce, algorithm, count};
    call.format = MailboxFormat::words;
    return communicator->serves(call);
  };
  EXPECT_TRUE(served(Algorithm::oneShot, 128));
  EXPECT_FALSE(served(Algorithm::oneShot, 129));  // more than a link carries
  EXPECT_FALSE(served(Algorithm::ring, 1));       // several messages on one link
}

// A wait that never ends is a lane that is not done and says where it stands; the links are put back.
TEST(Deadline, MakesAHangAFailedCase) {
  for (MailboxFormat format : {MailboxFormat::slots, MailboxFormat::words}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      HostCommunicator communicator(3, 2, 256);
      VirtualCall hanging{Collective::allReduce, Algorithm::oneShot, 50};
      hanging.format = format;
      hanging.repeats = 2;
      const std::vector<PlacedCall> calls = {communicator->place(hanging)};
      const PlacedCall& call = calls[0];
      call.calls[1].tag ^= 0x5a5a;  // another call than its peers make
      const emulation::Played played = runEmulated(launchesOf(calls), {4, seed, true});
      EXPECT_FALSE(played.stalled);
      bool suspicious = false;
      for (std::size_t i = 0; i < call.hasLane.size(); ++i) {
        EXPECT_FALSE(call.outcomes[i].done);
        suspicious |= call.outcomes[i].suspicious;
      }
      EXPECT_TRUE(suspicious);
      EXPECT_FALSE(communicator->faultsOf(call).empty());
    }
  }
}

}  // namespace
}  // namespace tutti::cuda
