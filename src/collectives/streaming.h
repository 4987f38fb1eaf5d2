// From how many bytes on a step on windows writes past the caches. Stores that do not fetch what they replace
// save a third of the traffic, but what they write has to come back from memory for its reader. It changes no
// bit, so each machine may decide for itself.
#pragma once

#include <cstdint>

#include "topology/machine.h"

namespace tutti {

// Bytes that a step touches in all its operands.
std::uint64_t streamingThreshold(const Machine& machine);

}  // namespace tutti
