// The matrix between the processes that mpirun has started: mpi_test.py runs it. Says what is wrong on standard error and
// ends with 1.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tests/api/process_cells.h"

namespace {

// A communicator for each list of cells. Returns how many of them went wrong here.
int runAll(int rank, int nranks) {
  using tutti::Registered;
  std::vector<std::pair<std::string, Registered>> runs = {{"", Registered::none}, {"", Registered::all}};
  for (const std::string& algorithm : tutti::algorithmNames()) {
    if (algorithm != "twoshotwindow" && algorithm != "none") runs.emplace_back(algorithm, Registered::none);
  }
  int wrongs = 0;
  for (const auto& [algorithm, registered] : runs) {
    tuttiUniqueId id{};
    if (rank == 0) tuttiGetUniqueId(&id);
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    const std::string wrong = tutti::runCells(tutti::cellsFor(nranks, algorithm, registered), rank, id);
    if (wrong.empty()) continue;
    std::fprintf(stderr, "rank %d of %d: %s\n", rank, nranks, wrong.c_str());
    ++wrongs;
  }
  return wrongs;
}

}  // namespace

int main(int argc, char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  MPI_Init(&argc, &argv);
  int rank = 0;
  int nranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  const int wrongs = runAll(rank, nranks);
  MPI_Finalize();
  return wrongs == 0 ? 0 : 1;
}
