// Reads /proc, the control group and uname. What cannot be read is left empty or unlimited: a benchmark must
// run on machines that hide things.
#include "machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <sstream>

namespace tutti::bench {
namespace {

// The value of the first "name : value" line of a file in /proc, without surrounding blanks; empty if there
// is none.
std::string field(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, name.size(), name) != 0) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::size_t meminfoBytes(const std::string& name) {
  std::istringstream text(field("/proc/meminfo", name));
  std::size_t kilobytes = 0;
  return text >> kilobytes ? kilobytes * 1024 : SIZE_MAX;
}

// A number from a file; SIZE_MAX if there is none ("max" is how a control group says "no limit").
std::size_t number(const char* path) {
  std::ifstream file(path);
  std::size_t value = 0;
  return file >> value ? value : SIZE_MAX;
}

std::size_t leftInControlGroup(const char* limitPath, const char* usedPath) {
  const std::size_t limit = number(limitPath);
  const std::size_t used = number(usedPath);
  if (limit == SIZE_MAX || used == SIZE_MAX) return SIZE_MAX;
  return limit > used ? limit - used : 0;
}

}  // namespace

Machine describeMachine() {
  utsname system{};
  uname(&system);
  std::string cpu = field("/proc/cpuinfo", "model name");
  if (cpu.empty()) cpu = system.machine;
  return {cpu, fmt::format("{} {}", system.sysname, system.release),
          static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), meminfoBytes("MemTotal")};
}

std::vector<int> allowedCpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &set)) cpus.push_back(cpu);
  }
  return cpus;
}

std::size_t availableMemoryBytes() {
  return std::min({meminfoBytes("MemAvailable"),
                   leftInControlGroup("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
                   leftInControlGroup("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                                      "/sys/fs/cgroup/memory/memory.usage_in_bytes")});
}

std::string dateNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace tutti::bench
