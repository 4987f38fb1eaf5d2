// See process_name.h.
#include "runtime/process_name.h"

#include <fmt/format.h>

#include <fstream>

namespace tutti {

std::string processName(pid_t told, std::optional<pid_t> seen) {
  const pid_t pid = seen.value_or(told);
  if (pid == told) return std::to_string(pid);
  if (pid == 0) return fmt::format("{} of another pid namespace", told);
  return fmt::format("{}, {} in its own pid namespace", pid, told);
}

std::optional<pid_t> pidSeen(int pidfd) {
  std::ifstream about(fmt::format("/proc/self/fdinfo/{}", pidfd));
  for (std::string field; about >> field;) {
    pid_t pid = -1;
    if (field == "Pid:" && about >> pid && pid >= 0) return pid;
  }
  return {};
}

}  // namespace tutti
