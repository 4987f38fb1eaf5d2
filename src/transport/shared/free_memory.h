// How much memory the kernel would still give to this process: what the machine has, and what each memory
// cgroup above the process leaves of its limit. Asked before a large reservation, because Linux answers one
// that does not fit by killing a process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tutti {

struct FreeMemory {
  std::uint64_t bytes = 0;  // an estimate: free, or a cache that goes when it is needed
  std::string limitedBy;    // "this machine", or the folder of the cgroup
};

// Nothing: the kernel does not say. `root` is where /proc and /sys are.
std::optional<FreeMemory> freeMemory(const std::filesystem::path& root = "/");

}  // namespace tutti
