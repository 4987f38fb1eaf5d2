// How far apart memory has to lie that different ranks write.
#pragma once

#include <cstddef>

namespace tutti {

// Two lines of 64 bytes: Intel's processors fetch lines in pairs, so a neighbour's line is taken away, too.
inline constexpr std::size_t kApart = 128;

}  // namespace tutti
