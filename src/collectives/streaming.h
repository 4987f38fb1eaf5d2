// From how many bytes on a step on windows writes past the caches. Stores that do not fetch what they replace
// save a third of the traffic, but what they write has to come back from memory for its reader. It changes no
// bit, so each machine may decide for itself.
#pragma once

#include <cstdint>

namespace tutti {

// Bytes that a step touches in all its operands. Asked of the processor once.
std::uint64_t streamingThreshold();

}  // namespace tutti
