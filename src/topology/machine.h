// What the machine is, as a plain value: packages, cores with their processing units, caches, memory, and what of it
// this process may use. Where it comes from is discover.h's business.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tutti {

// Processing units (PUs: what the kernel schedules on, hyperthreads included), by the operating system's numbers.
using PuSet = std::set<int>;

struct Package {
  PuSet pus;
  std::string vendor;  // of the processor, "GenuineIntel"; empty: not known
};

struct Core {
  PuSet pus;                   // more than one: hyperthreads
  std::optional<int> package;  // an index; none: not known
};

struct Cache {
  int level = 0;
  std::optional<std::uint64_t> bytes;  // none: not known
  PuSet pus;                           // which share it
};

struct NumaNode {
  int number = 0;                      // the operating system's
  std::optional<std::uint64_t> bytes;  // none: not known
  PuSet pus;                           // none: memory only
};

// A list that is empty is not known: every machine has a package, a core and memory.
struct Machine {
  PuSet pus;      // of the whole machine, as far as this process sees it
  PuSet allowed;  // those that the system leaves to this process (cpuset of the container or job)
  PuSet usable;   // those of them that the thread that asked is bound to
  std::vector<Package> packages;
  std::vector<Core> cores;
  std::vector<Cache> caches;  // of data
  std::vector<NumaNode> numaNodes;
  std::string unknown;  // why parts are not known; empty: all is

  // The cache of that level that the first usable PU has; none: not known.
  std::optional<std::uint64_t> cacheBytes(int level) const;

  // "1 package, 2 cores, 2 processing units (1 usable), L1 32 KiB, L2 1 MiB, L3 32 MiB, 1 NUMA node"
  std::string describe() const;
};

}  // namespace tutti
