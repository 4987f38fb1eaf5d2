// From byte ranges to the counts that are measured: reading "64K", growing by factor or step, rounding to
// elements and blocks. Pure functions.
#pragma once

#include "options.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tutti::bench {

// "4096", "64K", "1.5M", "2G", "1T" (powers of 1024; upper or lower case, a B after it allowed). Nothing for
// anything else and from 2^63 on.
std::optional<std::size_t> parseBytes(const std::string& text);

struct Counts {
  std::vector<std::size_t> counts;  // as the call takes them, ascending, each once
  std::string error;                // not empty: counts is
};

Counts countsFor(const Collective& collective, const Options& options, tuttiDataType_t type);

}  // namespace tutti::bench
