// One process alone, and the choice between it and MPI.
#include "launch.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstring>

namespace tutti::bench {
namespace {

class Alone : public Launch {
 public:
  int process() const override { return 0; }
  int processes() const override { return 1; }
  void broadcast(void*, std::size_t, int) override {}
  void allGather(const void* mine, void* all, std::size_t size, const Patience&) override {
    std::memcpy(all, mine, size);
  }
  void maximum(double*, std::size_t) override {}
  void abandon(int) override {}
};

// A killed mpirun leaves its processes running otherwise: they are in process groups of their own.
void dieWithParent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) raise(SIGKILL);
}

}  // namespace

Launched startLaunch(const std::optional<Launcher>& launcher) {
  if (launcher) dieWithParent();
  if (!launcher || launcher->processes == 1) return {std::make_unique<Alone>(), ""};
  return joinMpi(*launcher);
}

}  // namespace tutti::bench
