// A schedule in the form that the step body runs: flat arrays of plain structs without pointers into the
// host's containers, readable by a host loop and by a thread block alike. collectives/flatten.cc makes it
// from a Schedule.
#pragma once

#include <cstdint>

#include "base/number_types.h"

namespace tutti {

enum class Where : std::uint8_t { input, output, scratch, link, peerInput, peerOutput };

// One end of data movement within a run.
struct FlatOperand {
  Where where;
  Form form;
  std::uint16_t end;      // link: index into the lane's ends
  std::uint32_t peer;     // peerInput, peerOutput
  std::uint32_t segment;  // input, output, scratch, peerInput, peerOutput
};

// Consecutive sub-blocks that are contiguous in every operand of the step.
struct FlatRun {
  std::uint32_t subBlock;
  std::uint32_t nsubBlocks;
  std::uint32_t firstOperand;  // nsources sources, then ndestinations destinations
};

// One link that a step takes a message from, or posts one to.
struct FlatEnd {
  std::uint16_t end;  // index into the lane's ends
  Form form;          // of the data in the message
  bool carriesData;   // false: an empty message
};

struct FlatStep {
  std::uint32_t firstRun;
  std::uint32_t firstEnd;  // nincoming, then noutgoing
  std::uint16_t nruns;     // 0: a step of empty messages only
  std::uint16_t nsources;
  std::uint16_t ndestinations;
  std::uint16_t nincoming;
  std::uint16_t noutgoing;
};

struct LaneProgram {
  const FlatStep* steps;
  const FlatRun* runs;
  const FlatOperand* operands;
  const FlatEnd* stepEnds;
  std::uint32_t nsteps;
  std::uint32_t nends;
  std::uint32_t mostOperands;  // of any step
};

}  // namespace tutti
