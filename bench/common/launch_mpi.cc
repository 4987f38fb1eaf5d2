// The processes of an mpirun. The only file that calls MPI, and between measured calls only: it carries the
// unique id, outcomes and times. Waiting sleeps, because a process that is through with its calls may share its
// cores with one that still measures.
#include "launch.h"

#include "output.h"

#include <fmt/format.h>

// Without the C++ bindings of MPI 2, which would take a library of their own.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace tutti::bench {
namespace {

class Mpi : public Launch {
 public:
  Mpi() {
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &process_);
    MPI_Comm_size(MPI_COMM_WORLD, &processes_);
  }
  ~Mpi() override { MPI_Finalize(); }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;

  int process() const override { return process_; }
  int processes() const override { return processes_; }

  void broadcast(void* bytes, std::size_t size, int from) override {
    MPI_Request request;
    MPI_Ibcast(bytes, static_cast<int>(size), MPI_BYTE, from, MPI_COMM_WORLD, &request);
    wait(request, {});
  }

  void allGather(const void* mine, void* all, std::size_t size, const Patience& patience) override {
    const int bytes = static_cast<int>(size);
    MPI_Request request;
    MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, MPI_COMM_WORLD, &request);
    wait(request, patience);
  }

  void maximum(double* values, std::size_t count) override {
    MPI_Request request;
    MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD,
                   &request);
    wait(request, {});
  }

  void abandon(int status) override {
    if (processes_ > 1) MPI_Abort(MPI_COMM_WORLD, status);
  }

 private:
  void wait(MPI_Request request, const Patience& patience) {
    using namespace std::chrono;
    const auto start = steady_clock::now();
    auto pause = microseconds(5);
    // Those that give up do so one after the other, so that one of them speaks.
    const auto limit = duration<double>(patience.seconds + 0.5 * process_);
    for (int done = 0;;) {
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (done != 0) return;
      if (steady_clock::now() - start > limit) break;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, microseconds(500));
    }
    complain(fmt::format(
        "{}# FAILED another process has not answered for {:g} s: it is stopped or busy elsewhere; all "
        "are ended\n",
        patience.lastWords, patience.seconds));
    MPI_Abort(MPI_COMM_WORLD, 3);
  }

  int process_ = 0;
  int processes_ = 0;
};

}  // namespace

Launched joinMpi(const Launcher& launcher) {
  auto mpi = std::make_unique<Mpi>();
  // The launcher of another MPI leaves each process alone in a world of its own. One that does not say how many
  // processes it has started shows it by a process that is not the first.
  const bool isAnother =
      launcher.processes == 0 ? launcher.process >= mpi->processes() : launcher.processes != mpi->processes();
  if (!isAnother) return {std::move(mpi), ""};
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  const std::string text(version, static_cast<std::size_t>(length));
  return {
      nullptr,
      fmt::format("started by {} ({}), but this program is built with {}, which sees {} process{}: use the "
                  "mpirun of that MPI, or build tutti with the MPI of this launcher "
                  "(-Dmpi_implementation=openmpi or mpich)",
                  launcher.name, launcher.sign, text.substr(0, text.find_first_of(",\n")), mpi->processes(),
                  mpi->processes() == 1 ? "" : "es")};
}

}  // namespace tutti::bench
