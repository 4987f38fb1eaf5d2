// The library's own step body, instantiated for emulated threads: what a GPU module is to a host program. The
// tests link it; the mutation driver loads mutants of it from shared objects, so that a mutant is one small
// file to compile.
#pragma once

#include "kernels/lane.h"
#include "thread.h"

namespace tutti::emulation {

enum class Workspace {
  own,        // each thread has operand lists of its own
  shared,     // the block has one set, as a GPU's block has in its shared memory
  oneThread,  // a host thread: lines go through the staging
};

struct Body {
  void (*begin)(Thread&, LaneState&, const CallArguments&, Workspace);
  bool (*advance)(Thread&, LaneState&, Workspace);
};

}  // namespace tutti::emulation

extern "C" __attribute__((visibility("default"))) const tutti::emulation::Body* tuttiEmulatedBody();
