// Two machines that run the threads of all ranks at once: fibers of one OS thread in an order that the seed
// decides, and real threads. A GPU gives more (warps, scopes); what it promises, and no more, is what these
// promise.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "thread.h"

namespace tutti::emulation {

struct Grid {
  int nranks;
  int nblocks;   // of each rank
  int nthreads;  // of each block
};

struct Played {
  bool stalled = false;
  std::uint64_t suspicions = 0;  // how often a message of another call was seen
  std::uint64_t switches = 0;    // fibers only
  // By call: fibers: switches from one rank to another while both were in the call; threads: the most ranks
  // that were in the call at the same time, less one.
  std::vector<std::uint64_t> interleavings;
};

using ThreadMain = std::function<void(Thread&)>;

Played playOnFibers(const Grid& grid, std::uint64_t seed, int ncalls, const ThreadMain& main);
Played playOnThreads(const Grid& grid, std::uint64_t seed, int ncalls, const ThreadMain& main);

}  // namespace tutti::emulation
