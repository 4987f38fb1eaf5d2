// The part of reduceCopy that moves bytes and computes nothing: one source, any number of destinations.
#pragma once

#include <cstddef>

#include "kernels/reduction.h"

namespace tutti {

// Copies `bytes` bytes to every destination; one that is the source itself is left alone. No alignment is
// needed. Streaming destinations are written past the caches where the processor can.
void copyBits(const void* source, const Destination* destinations, int ndestinations, std::size_t bytes);

}  // namespace tutti
