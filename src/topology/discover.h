// Asks hwloc what the machine is. Devices are left out: looking for them is slow on large hosts, and nothing here
// wants them.
#pragma once

#include <optional>
#include <string>

#include "topology/machine.h"

namespace tutti {

// What to look at.
struct MachineSource {
  std::string synthetic;         // hwloc's description of a machine, "pack:2 core:4 pu:2"; empty: this one
  std::optional<PuSet> binding;  // none: the calling thread's, which is read and never changed
};

// Always an answer: what hwloc cannot tell is left unknown, and `unknown` says why; then the PUs are those that the
// calling thread may run on. Takes milliseconds, most of them for loading hwloc's plugins; not for calls.
Machine discover(const MachineSource& source = {});

// The PUs that the calling thread may run on.
PuSet bindingOfThisThread();

}  // namespace tutti
