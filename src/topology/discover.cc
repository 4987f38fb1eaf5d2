// See discover.h. The only file that knows hwloc.
#include "topology/discover.h"

#include <fmt/format.h>
#include <hwloc.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <memory>
#include <new>
#include <thread>
#include <utility>

namespace tutti {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using HwlocTopology = std::unique_ptr<hwloc_topology, DestroyTopology>;

PuSet setOf(hwloc_const_bitmap_t bitmap) {
  PuSet set;
  if (bitmap == nullptr || hwloc_bitmap_weight(bitmap) < 0) return set;
  for (int pu = hwloc_bitmap_first(bitmap); pu >= 0; pu = hwloc_bitmap_next(bitmap, pu)) set.insert(pu);
  return set;
}

PuSet both(const PuSet& a, const PuSet& b) {
  PuSet set;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(set, set.end()));
  return set;
}

std::optional<std::uint64_t> known(std::uint64_t bytes) {
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

template <class Take>
void forEach(hwloc_topology* topology, hwloc_obj_type_t type, const Take& take) {
  hwloc_obj_t object = nullptr;
  while ((object = hwloc_get_next_obj_by_type(topology, type, object)) != nullptr) take(*object);
}

// hwloc is not made for running out of memory, and the library is: what hwloc may take is asked for first.
bool isMemoryFree() {
  constexpr std::size_t kEnough = std::size_t{32} << 20;
  void* const memory = mmap(nullptr, kEnough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, kEnough);
  return true;
}

// Null: `why` tells.
HwlocTopology load(const std::string& synthetic, std::string& why) {
  const auto failed = [&why](const char* call) {
    why = fmt::format("{} of hwloc failed: {}", call, std::strerror(errno));
    return nullptr;
  };
  if (!isMemoryFree()) {
    why = "there is no memory to ask hwloc";
    return nullptr;
  }
  hwloc_topology* made = nullptr;
  if (hwloc_topology_init(&made) != 0) return failed("topology_init");
  HwlocTopology topology(made);
  // Without the first, hwloc moves the thread from PU to PU. The second: PUs of other containers belong to the machine.
  constexpr unsigned long kFlags = HWLOC_TOPOLOGY_FLAG_DONT_CHANGE_BINDING |
                                   HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_NO_DISTANCES |
                                   HWLOC_TOPOLOGY_FLAG_NO_MEMATTRS | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
  if (hwloc_topology_set_flags(made, kFlags) != 0) return failed("topology_set_flags");
  if (!synthetic.empty() && hwloc_topology_set_synthetic(made, synthetic.c_str()) != 0)
    return failed("topology_set_synthetic");
  if (hwloc_topology_load(made) != 0) return failed("topology_load");
  if (synthetic.empty() && hwloc_topology_is_thissystem(made) == 0) {
    why = "hwloc was told of another machine (HWLOC_XMLFILE, HWLOC_SYNTHETIC or HWLOC_FSROOT)";
    return nullptr;
  }
  return topology;
}

Machine read(hwloc_topology* topology) {
  Machine machine;
  machine.pus = setOf(hwloc_topology_get_topology_cpuset(topology));
  machine.allowed = both(machine.pus, setOf(hwloc_topology_get_allowed_cpuset(topology)));
  forEach(topology, HWLOC_OBJ_PACKAGE, [&](hwloc_obj& package) {
    const char* const vendor = hwloc_obj_get_info_by_name(&package, "CPUVendor");
    machine.packages.push_back({setOf(package.cpuset), vendor == nullptr ? "" : vendor});
  });
  forEach(topology, HWLOC_OBJ_CORE, [&](hwloc_obj& object) {
    Core core;
    core.pus = setOf(object.cpuset);
    if (const hwloc_obj* package = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, &object))
      core.package = static_cast<int>(package->logical_index);
    machine.cores.push_back(std::move(core));
  });
  for (int type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L5CACHE; ++type)
    forEach(topology, static_cast<hwloc_obj_type_t>(type), [&](const hwloc_obj& cache) {
      machine.caches.push_back(
          {static_cast<int>(cache.attr->cache.depth), known(cache.attr->cache.size), setOf(cache.cpuset)});
    });
  forEach(topology, HWLOC_OBJ_NUMANODE, [&](const hwloc_obj& node) {
    machine.numaNodes.push_back(
        {static_cast<int>(node.os_index), known(node.attr->numanode.local_memory), setOf(node.cpuset)});
  });
  if (machine.cores.empty()) machine.unknown = "hwloc found no cores";
  return machine;
}

Machine guess(const PuSet& binding, std::string why) {
  Machine machine;
  machine.pus = machine.allowed = machine.usable = binding;
  machine.unknown = std::move(why);
  return machine;
}

}  // namespace

PuSet bindingOfThisThread() {
  // The kernel refuses a set that is smaller than its own, and does not say how large that is.
  for (int room = CPU_SETSIZE; room <= 1 << 20; room *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(static_cast<std::size_t>(room)),
                                                               [](cpu_set_t* given) { CPU_FREE(given); });
    if (set == nullptr) throw std::bad_alloc();
    const std::size_t bytes = CPU_ALLOC_SIZE(room);
    CPU_ZERO_S(bytes, set.get());
    if (sched_getaffinity(0, bytes, set.get()) == 0) {
      PuSet pus;
      for (int pu = 0; pu < room; ++pu) {
        if (CPU_ISSET_S(static_cast<std::size_t>(pu), bytes, set.get())) pus.insert(pu);
      }
      return pus;
    }
    if (errno != EINVAL) break;
  }
  PuSet all;  // no right to ask
  for (int pu = 0; pu < std::max(1, static_cast<int>(std::thread::hardware_concurrency())); ++pu)
    all.insert(pu);
  return all;
}

Machine discover(const MachineSource& source) {
  const PuSet binding = source.binding ? *source.binding : bindingOfThisThread();
  std::string why;
  const HwlocTopology topology = load(source.synthetic, why);
  if (topology == nullptr) return guess(binding, std::move(why));
  Machine machine = read(topology.get());
  machine.usable = both(machine.allowed, binding);
  // The kernel has the last word on where a thread runs.
  if (machine.usable.empty())
    return guess(binding, "hwloc allows none of the processing units that the thread is bound to");
  return machine;
}

}  // namespace tutti
