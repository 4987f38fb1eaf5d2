// See machine.h.
#include "topology/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tutti {
namespace {

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string sized(std::uint64_t bytes) {
  return bytes % (1 << 20) == 0 ? fmt::format("{} MiB", bytes >> 20) : fmt::format("{} KiB", bytes >> 10);
}

}  // namespace

std::optional<std::uint64_t> Machine::cacheBytes(int level) const {
  if (usable.empty()) return {};
  const auto found = std::find_if(caches.begin(), caches.end(), [&](const Cache& cache) {
    return cache.level == level && cache.pus.count(*usable.begin()) != 0;
  });
  return found == caches.end() ? std::nullopt : found->bytes;
}

std::string Machine::describe() const {
  std::string text;
  if (!packages.empty()) text += fmt::format("{}, ", counted(packages.size(), "package"));
  if (!cores.empty()) text += fmt::format("{}, ", counted(cores.size(), "core"));
  text += counted(pus.size(), "processing unit");
  if (usable.size() != pus.size()) text += fmt::format(" ({} usable)", usable.size());
  for (int level = 1; level <= 5; ++level) {
    if (const auto bytes = cacheBytes(level)) text += fmt::format(", L{} {}", level, sized(*bytes));
  }
  if (!numaNodes.empty()) text += fmt::format(", {}", counted(numaNodes.size(), "NUMA node"));
  if (!unknown.empty()) text += fmt::format(" ({})", unknown);
  return text;
}

}  // namespace tutti
