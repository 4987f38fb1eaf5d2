// The ranks of a communicator that share one device: links, schedules and buffers, all in one arena, ready for
// launchVirtualRanks(), for emulated blocks, or for a host thread (host_ranks.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "collectives/flatten.h"
#include "kernels/cuda/virtual_ranks.h"
#include "tests/gpu/arena.h"

namespace tutti::cuda {

struct VirtualCall {
  Collective collective;
  Algorithm algorithm;
  std::uint64_t count;  // elements
  int root = 0;
  int channels = 1;
  DataType type = DataType::f32;
  Operation operation = Operation::sum;
  MailboxFormat format = MailboxFormat::slots;
  bool inPlace = false;
  unsigned inputSkew = 0;  // elements that the buffers lie behind a multiple of 128 bytes
  unsigned outputSkew = 0;
  bool exact = false;    // f32 sums: small integers, so that every order of adding gives the same sum
  unsigned repeats = 1;  // in one launch
};

std::string describe(const VirtualCall& call);

// A buffer of a rank, before the call and, once it has run, after it.
struct PlacedBuffer {
  const std::byte* host;
  std::size_t bytes;
};

// One launch.
struct PlacedCall {
  VirtualCall call;
  std::size_t number;    // of those placed
  VirtualRanks launch;   // the device's addresses; the workspace is left to whoever launches
  CallArguments* calls;  // the host's, as are the rest
  const VirtualLane* lanes;
  LaneOutcome* outcomes;
  std::vector<bool> hasLane;          // as outcomes
  std::vector<std::uint64_t> nsteps;  // of a lane in all rounds
  std::vector<PlacedBuffer> buffers;  // by rank: input and output, in place both in one
  std::vector<const std::byte*> outputs;
};

class VirtualCommunicator {
 public:
  // `slotBytes`: also the largest message of a link that carries words.
  VirtualCommunicator(Arena& arena, int nranks, std::uint32_t nslots, std::uint64_t slotBytes)
      : arena_(arena), nranks_(nranks), nslots_(nslots), slotBytes_(slotBytes) {}

  // Whether the messages of the call may travel in its format, and find room on the links.
  bool serves(const VirtualCall& call) const;

  // Of its launch: lanes of the rank that has most, for each rank.
  unsigned nblocksOf(const VirtualCall& call) const;

  // Calls run in the order in which they were placed. The contents of the buffers follow from the call and how
  // many were placed before; what the call has to write holds other bytes. The links carry the format of the
  // call, or the one that is given instead: the cut is that of the call in any case, and so are the results.
  PlacedCall place(const VirtualCall& call) { return place(call, call.format); }
  PlacedCall place(const VirtualCall& call, MailboxFormat carriedAs);

  // What is not as it has to be after the calls, one sentence each; the host's copy of the arena must be current.
  std::vector<std::string> faultsOf(const PlacedCall& placed) const;       // of the lanes
  std::vector<std::string> faultsOfExact(const PlacedCall& placed) const;  // of the results
  std::vector<std::string> faultsOfLinks() const;

 private:
  struct Link {
    Placed<std::uint64_t> credit;
    Placed<MailboxEnd> sender;
    Placed<MailboxEnd> receiver;
  };
  using Flats = std::vector<std::unique_ptr<FlatSchedule>>;  // by rank

  Flats flattenAll(const VirtualCall& call) const;
  CallArguments argumentsOf(const VirtualCall& call, const FlatSchedule& flat) const;
  MailboxEnd* endOf(MailboxFormat format, int from, int to, int channel, bool sends);
  void placeBuffers(PlacedCall& placed, int rank, const std::byte*& input, std::byte*& output);
  void placeLane(PlacedCall& placed, int rank, std::size_t index, const FlatLane& from, VirtualLane& lane);
  float exactOf(const PlacedCall& placed, int rank, std::uint64_t index) const;

  Arena& arena_;
  const int nranks_;
  const std::uint32_t nslots_;
  const std::uint64_t slotBytes_;
  std::map<std::tuple<MailboxFormat, int, int, int>, Link> links_;
  std::size_t ncalls_ = 0;
};

// What the host launches itself, where both addresses of the arena are one.
std::vector<VirtualRanks> launchesOf(const std::vector<PlacedCall>& calls);

// Whether all lanes came to their end.
bool isDone(const PlacedCall& placed);

// Where two placements of a call, both of them run, do not hold the same bytes.
std::vector<std::string> differencesOf(const PlacedCall& placed, const PlacedCall& wanted);

}  // namespace tutti::cuda
