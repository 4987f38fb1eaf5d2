// What a run will do, before it does anything: the counts of every type and the memory they take, held
// against the memory there is.
#pragma once

#include "options.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::bench {

// The counts of each type, and the bytes that the largest of them need.
struct Work {
  std::vector<std::vector<std::size_t>> counts;  // per entry of options.types
  std::size_t sendBytes = 0, recvBytes = 0, offset = 0;
  std::string error;
};

Work planWork(const Collective& collective, const Options& options);

}  // namespace tutti::bench
