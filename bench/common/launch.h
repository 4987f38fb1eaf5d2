// The processes of a run, and the few things they tell each other outside the measured calls: alone, or started
// by mpirun (launch_mpi.cc, or launch_mpi_absent.cc in a build without MPI). All functions that say
// "collective" are called by all processes in the same order, by the main thread.
#pragma once

#include "launcher.h"

#include <cstddef>
#include <memory>
#include <string>

namespace tutti::bench {

// How long a process waits for the others, and what it says before it ends them all because one does not come.
struct Patience {
  double seconds = 1800;
  std::string lastWords;
};

class Launch {
 public:
  virtual ~Launch() = default;
  virtual int process() const = 0;
  virtual int processes() const = 0;

  // Collective: bytes of `from` to all.
  virtual void broadcast(void* bytes, std::size_t size, int from) = 0;

  // Collective: `size` bytes of each process into `all`, in their order.
  virtual void allGather(const void* mine, void* all, std::size_t size, const Patience& patience) = 0;

  // Collective: each value becomes the largest that a process has there.
  virtual void maximum(double* values, std::size_t count) = 0;

  // Ends all processes with this status, for one that cannot come to the next collective function. Returns
  // only where there are no others.
  virtual void abandon(int status) = 0;
};

struct Launched {
  std::unique_ptr<Launch> launch;
  std::string refusal;  // without a launch: why, in one line
};

// Started by nobody: one process, and no MPI is touched. By a launcher: all its processes, or a refusal; from
// then on this process ends when its parent does, so that a killed launcher leaves nothing behind.
Launched startLaunch(const std::optional<Launcher>& launcher);

// The processes of the launcher, by MPI.
Launched joinMpi(const Launcher& launcher);

}  // namespace tutti::bench
