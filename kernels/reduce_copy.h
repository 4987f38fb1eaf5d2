// reduceCopy: the one kernel that adds numbers on the host. Any number of sources are combined into any
// number of destinations in one pass, in the accumulation type, with one rounding at the end. What it
// computes is written down, element by element, in kernels/reduce_element.h; here are the SIMD versions of it
// and the choice among them.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/number_types.h"
#include "kernels/reduction.h"

namespace tutti {

// destinations[0..ndestinations) = reduce(sources[0..nsources)), `count` elements of each. `reduction` has
// the type and operation that the function was resolved for.
//
// - nsources >= 1; sources are combined in their order. One source with all forms equal is a copy of bits,
//   otherwise no destination is `raw`.
// - Host memory; no alignment; nothing outside the `count` elements is read or written; count may be zero.
// - A destination may be exactly a source, or else overlaps no operand.
// - Any thread; the floating-point unit must be in its default state (kernels/float_environment.h: one guard
//   around many calls). Nothing is allocated and nothing fails.
using ReduceCopyFunction = void (*)(const Reduction& reduction, const Source* sources, int nsources,
                                    const Destination* destinations, int ndestinations, std::size_t count);

// The fastest version that this processor runs. Resolve it once, when a plan is made; calling it then is one
// indirect call.
ReduceCopyFunction reduceCopyFor(DataType type, Operation operation);

// The version of one of reduceCopyTargets(), or null for any other name.
ReduceCopyFunction reduceCopyFor(DataType type, Operation operation, std::string_view target);

// The compiled versions that this processor runs, best first: among AVX3 (AVX-512), AVX2, SSE4, NEON; the
// last one is "reference", the scalar specification.
std::vector<std::string_view> reduceCopyTargets();

// Resolves, sets the floating-point unit, and calls: for places where speed does not matter.
void reduceCopy(const Reduction& reduction, const Source* sources, int nsources,
                const Destination* destinations, int ndestinations, std::size_t count);

}  // namespace tutti
