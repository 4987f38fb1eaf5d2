// What the step body works on: the arguments of one call, shared by its lanes, and the state of one lane.
// Plain structs; on a GPU they live in device memory, on a host in the communicator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mailbox_end.h"
#include "kernels/cut.h"
#include "kernels/program.h"
#include "kernels/reduction.h"

namespace tutti {

struct CallArguments {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  const std::byte* const* peerInputs = nullptr;  // by rank; windows only
  std::byte* const* peerOutputs = nullptr;
  Cut cut;
  Reduction reduction;
  std::uint32_t tag = 0;
  std::uint32_t formBytes[3] = {0, 0, 0};  // bytes of an element by Form
  std::uint64_t shape = 0;  // a number, not zero, for each pair of cut and formBytes that a lane meets
};

// See kernels/fit.h. The arrays are indexed as those of the program, stepElements as its steps. In a block of
// several threads with a shared workspace the arrays are shared too.
struct LaneFit {
  std::uint64_t* offsets = nullptr;       // of each operand in its buffer, scratch or message, in bytes
  std::uint64_t* runElements = nullptr;   // that each operand of a run moves
  std::uint64_t* messageBytes = nullptr;  // of each step end
  std::uint64_t* stepElements = nullptr;  // that each data operand of a step moves
  // What it was made for.
  std::uint64_t shape = 0;
  std::uint64_t elements = 0;
};

struct LaneState {
  // Fixed by the plan.
  const LaneProgram* program = nullptr;
  MailboxEnd* const* ends = nullptr;            // program->nends
  MailboxFormat format = MailboxFormat::slots;  // of all of them
  std::byte* scratch = nullptr;                 // segment after segment, scratchStride bytes apart
  std::uint64_t scratchStride = 0;
  Source* sources = nullptr;  // workspace: mostOperands of each; lines in a shared one: for each thread
  Destination* destinations = nullptr;
  // Lines of one host thread, and words: room for a message of each end, stagingStride apart. Words: shared by
  // the block, which may keep it where its threads reach it fast; the stride is a multiple of 16.
  std::byte* staging = nullptr;
  std::uint64_t stagingStride = 0;

  LaneFit fit;

  // The call.
  const CallArguments* call = nullptr;

  // Progress.
  const std::byte* outgoing = nullptr;  // what the staged messages of the current step hold
  std::uint32_t step = 0;
  std::uint32_t round = 0;
  std::uint64_t roundBytes = 0;  // where the round begins in a segment of a user's buffer
  bool done = true;

  // Counted since the call began.
  std::uint64_t stepsFired = 0;
  std::uint64_t messagesSent = 0;
  std::uint64_t bytesSent = 0;
};

}  // namespace tutti
