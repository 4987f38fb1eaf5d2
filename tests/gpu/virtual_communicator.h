// The ranks of a communicator that share one device: links, schedules and buffers of f32 sums, all in one arena,
// ready for launchVirtualRanks() or for emulated blocks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/schedule.h"
#include "kernels/cuda/virtual_ranks.h"
#include "tests/gpu/arena.h"

namespace tutti::cuda {

struct VirtualCall {
  Collective collective;
  Algorithm algorithm;
  std::uint64_t count;  // elements
  int root = 0;
};

std::string describe(const VirtualCall& call);

// One launch. Inputs hold small integers, so that every order of adding gives the same sum; outputs hold what no
// sum is.
struct PlacedCall {
  VirtualCall call;
  std::size_t number;
  VirtualRanks launch;   // the device's addresses; the workspace is left to whoever launches
  CallArguments* calls;  // the host's, as are the rest
  const VirtualLane* lanes;
  LaneOutcome* outcomes;
  std::vector<bool> hasLane;          // as outcomes
  std::vector<std::uint64_t> nsteps;  // of a lane in all rounds
  std::vector<const float*> outputs;  // the host's
};

class VirtualCommunicator {
 public:
  VirtualCommunicator(Arena& arena, int nranks, std::uint32_t nslots, std::uint64_t slotBytes)
      : arena_(arena), nranks_(nranks), nslots_(nslots), slotBytes_(slotBytes) {}

  // Calls run in the order in which they were placed.
  PlacedCall place(const VirtualCall& call);

  // What is not as it has to be after the calls, one sentence each; the host's copy of the arena must be current.
  std::vector<std::string> faultsOf(const PlacedCall& placed) const;
  std::vector<std::string> faultsOfLinks() const;

 private:
  struct Link {
    Placed<std::uint64_t> credit;
    Placed<MailboxEnd> sender;
    Placed<MailboxEnd> receiver;
  };

  MailboxEnd* endOf(int from, int to, int channel, bool sends);
  float expected(const PlacedCall& placed, int rank, std::uint64_t index) const;

  Arena& arena_;
  const int nranks_;
  const std::uint32_t nslots_;
  const std::uint64_t slotBytes_;
  std::map<std::tuple<int, int, int>, Link> links_;
  std::size_t ncalls_ = 0;
};

}  // namespace tutti::cuda
