// See free_memory.h.
#include "transport/shared/free_memory.h"

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <string_view>

namespace tutti {
namespace {

using Path = std::filesystem::path;

// The number in a file that holds nothing else. "max" is none.
std::optional<std::uint64_t> numberIn(const Path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (!(in >> number)) return {};
  return number;
}

// The sum of the named numbers of a file of lines "name number". Nothing: it has none of them.
std::optional<std::uint64_t> sumIn(const Path& file, std::initializer_list<std::string_view> names) {
  std::ifstream in(file);
  std::optional<std::uint64_t> sum;
  for (std::string name, rest; in >> name; std::getline(in, rest)) {
    std::uint64_t number = 0;
    if (std::find(names.begin(), names.end(), name) == names.end() || !(in >> number)) continue;
    sum = sum.value_or(0) + number;
  }
  return sum;
}

struct Hierarchy {
  Path mount;
  Path group;  // relative to the mount
  const char* limit;
  const char* usage;
};

// Lines "number:controllers:/path"; version 2 has no controllers.
std::optional<Hierarchy> hierarchyIn(const std::string& line, const Path& root) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return {};
  const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
  const Path group = Path(line.substr(second + 1)).relative_path();
  if (controllers == ",,") return Hierarchy{root / "sys/fs/cgroup", group, "memory.max", "memory.current"};
  if (controllers.find(",memory,") == std::string::npos) return {};
  return Hierarchy{root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes", "memory.usage_in_bytes"};
}

// The group and all above it. A folder that is not there says nothing: containers often show the root alone.
void lower(FreeMemory& least, const Hierarchy& hierarchy) {
  for (Path group = hierarchy.group;; group = group.parent_path()) {
    const Path folder = group.empty() ? hierarchy.mount : hierarchy.mount / group;
    const auto limit = numberIn(folder / hierarchy.limit);
    const auto usage = numberIn(folder / hierarchy.usage);
    if (limit && usage) {
      const std::uint64_t cache =
          sumIn(folder / "memory.stat", {"total_inactive_file", "total_active_file"})
              .value_or(sumIn(folder / "memory.stat", {"inactive_file", "active_file"}).value_or(0));
      const std::uint64_t held = *usage - std::min(*usage, cache);
      const std::uint64_t left = *limit - std::min(*limit, held);
      if (left < least.bytes) least = {left, "the memory cgroup " + folder.string()};
    }
    if (group.empty()) return;
  }
}

}  // namespace

std::optional<FreeMemory> freeMemory(const Path& root) {
  const auto machine = sumIn(root / "proc/meminfo", {"MemAvailable:", "SwapFree:"});
  if (!machine) return {};
  FreeMemory least = {*machine * 1024, "this machine"};
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (const auto hierarchy = hierarchyIn(line, root)) lower(least, *hierarchy);
  }
  return least;
}

}  // namespace tutti
