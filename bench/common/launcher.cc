// A table of the variables, the launcher that is nearest to the process first: Open MPI's mpirun in a Slurm job
// leaves Slurm's variables as they are, and those count its own daemons.
#include "launcher.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>

namespace tutti::bench {
namespace {

struct Variables {
  const char* launcher;
  const char* processes;  // nullptr: this launcher does not say
  const char* process;
};

constexpr Variables kLaunchers[] = {
    {"Open MPI's mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"MVAPICH's mpirun", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
    {"a PMI launcher (mpirun of MPICH or Intel MPI)", "PMI_SIZE", "PMI_RANK"},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
    {"srun", "SLURM_NTASKS", "SLURM_PROCID"},
    {"a PMIx launcher", nullptr, "PMIX_RANK"},
};

// Nothing if the variable is not set, or is no number from `least` on.
std::optional<int> number(const Environment& environment, const char* name, int least) {
  const char* text = environment(name);
  if (text == nullptr || text[0] == '\0') return std::nullopt;
  errno = 0;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || errno == ERANGE || value < least || value > 1'000'000'000) return std::nullopt;
  return static_cast<int>(value);
}

}  // namespace

std::optional<Launcher> launcherIn(const Environment& environment) {
  for (const Variables& names : kLaunchers) {
    const std::optional<int> process = number(environment, names.process, 0);
    if (names.processes == nullptr) {
      if (process)
        return Launcher{names.launcher, fmt::format("{}={}", names.process, *process), *process, 0};
      continue;
    }
    const std::optional<int> processes = number(environment, names.processes, 1);
    // Slurm sets SLURM_NTASKS for a whole job too; only a task has a number.
    if (!processes || (!process && names.launcher == std::string("srun"))) continue;
    return Launcher{names.launcher, fmt::format("{}={}", names.processes, *processes), process.value_or(0),
                    *processes};
  }
  return std::nullopt;
}

}  // namespace tutti::bench
