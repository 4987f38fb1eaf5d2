// The cooperative test form: one launch in which each thread block drives one lane of one rank, so that several
// ranks of a communicator share one GPU. All blocks are resident or the launch fails, so a wait ends, or is a
// mistake that the deadline turns into a failed case. Everything is raw pointers into memory that the device
// reaches; who fills it decides where it lies. No type of CUDA is named here: any host file can include it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/number_types.h"
#include "kernels/lane.h"

namespace tutti::cuda {

inline constexpr unsigned kMostBlockThreads = 384;

// A lane as it lies in device memory. The arrays of the program are the lane's own: firstRun, firstOperand and
// firstEnd count from their beginnings.
struct VirtualLane {
  LaneProgram program;  // nsteps == 0: the rank has no such lane
  std::uint32_t nruns;
  std::uint32_t noperands;
  std::uint32_t nstepEnds;
  MailboxFormat format;
  MailboxEnd* const* ends;
  std::byte* scratch;
  std::uint64_t scratchStride;
  std::uint64_t stagingStride;  // words: bytes of the largest message, rounded up to a multiple of 16
};

// What became of it.
struct LaneOutcome {
  std::uint64_t stepsFired;  // of the last call, as the two that follow
  std::uint64_t messagesSent;
  std::uint64_t bytesSent;
  std::uint32_t calls;  // that came to their end, of the launch's repeats
  std::uint32_t step;   // where the next one waits, if not done
  std::uint32_t round;
  bool done;
  bool suspicious;  // a message of another call was seen
};

// One launch. The pointers are device memory and stay valid until the stream is done with it.
struct VirtualRanks {
  DataType type;  // of every rank's call
  Operation operation;
  unsigned nranks;
  unsigned nlanes;                           // of the rank that has most
  const VirtualLane* lanes;                  // [nranks][nlanes]
  const CallArguments* calls;                // by rank
  LaneOutcome* outcomes;                     // [nranks][nlanes]; untouched where there is no lane
  std::size_t workspaceBytes;                // the most that workspaceBytesOf() says of a lane
  unsigned repeats = 1;                      // the call is made so often, one right after the other
  unsigned nthreads = kMostBlockThreads;     // of a block: a multiple of 32, at most kMostBlockThreads
  std::uint64_t patienceNs = 2'000'000'000;  // after which a lane gives up waiting
};

// Shared memory that a block of `nthreads` threads needs for the lane. Follows no pointer of it.
std::size_t workspaceBytesOf(const VirtualLane& lane, unsigned nthreads);

// Queues the launch on `stream` (a cudaStream_t) of the current device and returns without waiting: a
// cudaError_t, 0 if it was queued. cudaErrorCooperativeLaunchTooLarge: not all blocks fit on the device at
// once. Any thread.
int launchVirtualRanks(const VirtualRanks& ranks, void* stream);

}  // namespace tutti::cuda
