// Two processes beside what the machine allows (the exchange of a flag, two processes that copy memory) and beside the
// MPI that started them, whose MPI_Allreduce takes turns with ours in the same processes.
//
//   mpirun -n 2 processes_bench [pairs of batches [what]]     only the pairs with that text in their names
#include <fmt/format.h>

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/machine.h"
#include "pairs.h"
#include "tutti/tutti.h"

namespace {

using namespace tutti::bench;

constexpr std::size_t kMost = 128u << 20;

[[noreturn]] void giveUp(const char* what) {
  std::fprintf(stderr, "processes_bench: %s: %s\n", what, tuttiGetLastError(nullptr));
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

// Memory that both processes see.
void* sharedMemory(std::size_t bytes, int rank) {
  constexpr std::size_t kMargin = 128;
  MPI_Win window;
  void* memory = nullptr;
  MPI_Win_allocate_shared(rank == 0 ? static_cast<MPI_Aint>(bytes + kMargin) : 0, 1, MPI_INFO_NULL,
                          MPI_COMM_WORLD, &memory, &window);
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &size, &unit, &memory);
  std::size_t room = bytes + kMargin;
  std::align(kMargin, bytes, memory, room);
  if (rank == 0) std::memset(memory, 0, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  return memory;
}

class Rank {
 public:
  explicit Rank(int rank) {
    tuttiUniqueId id;
    if (rank == 0 && tuttiGetUniqueId(&id) != tuttiSuccess) giveUp("id");
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
    tuttiUniqueId second;
    if (rank == 0 && tuttiGetUniqueId(&second) != tuttiSuccess) giveUp("id");
    MPI_Bcast(&second, sizeof(second), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (tuttiCommInitRank(&plain_, 2, id, rank) != tuttiSuccess ||
        tuttiCommInitRank(&registered_, 2, second, rank) != tuttiSuccess)
      giveUp("communicators");
    input_ = std::vector<float>(kMost / sizeof(float), 1);
    output_ = std::vector<float>(kMost / sizeof(float));
    for (void** window : {&windowIn_, &windowOut_}) {
      void* handle = nullptr;
      if (tuttiMemAlloc(window, kMost, TUTTI_DEVICE_HOST) != tuttiSuccess ||
          tuttiCommRegister(registered_, *window, kMost, &handle) != tuttiSuccess)
        giveUp("memory");
      std::memset(*window, 0, kMost);
    }
  }

  Batch ordinary(std::size_t bytes) {
    return [this, bytes](int, int iterations) {
      allReduce(input_.data(), output_.data(), bytes, plain_, iterations);
    };
  }
  Batch registered(std::size_t bytes) {
    return [this, bytes](int, int iterations) {
      allReduce(windowIn_, windowOut_, bytes, registered_, iterations);
    };
  }
  Batch mpi(std::size_t bytes) {
    return [this, bytes](int, int iterations) {
      for (int i = 0; i < iterations; ++i)
        MPI_Allreduce(input_.data(), output_.data(), static_cast<int>(bytes / sizeof(float)), MPI_FLOAT,
                      MPI_SUM, MPI_COMM_WORLD);
    };
  }
  // As many bytes as a rank of a registered all-reduce reads and writes; both start together.
  Batch copies(std::size_t bytes, const FlagExchange& flags) {
    return [this, bytes, &flags](int rank, int iterations) {
      for (int i = 0; i < iterations; ++i) {
        std::memcpy(windowOut_, windowIn_, bytes);
        flags(rank, 1);
      }
    };
  }

 private:
  static void allReduce(const void* input, void* output, std::size_t bytes, tuttiComm_t comm,
                        int iterations) {
    for (int i = 0; i < iterations; ++i) {
      if (tuttiAllReduce(input, output, bytes / sizeof(float), tuttiFloat32, tuttiSum, comm, nullptr) !=
          tuttiSuccess)
        giveUp("all-reduce");
    }
  }

  tuttiComm_t plain_ = nullptr;
  tuttiComm_t registered_ = nullptr;
  std::vector<float> input_;
  std::vector<float> output_;
  void* windowIn_ = nullptr;
  void* windowOut_ = nullptr;
};

std::string mpiName() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::string text(version, static_cast<std::size_t>(length));
  text = text.substr(0, text.find_first_of(",\n"));
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

int run(int rank, int npairs, const std::string& wanted) {
  const auto cpus = allowedCpus();
  if (cpus.size() > 1) pinTo(cpus[static_cast<std::size_t>(rank)]);
  const FlagExchange flags(sharedMemory(FlagExchange::kBytes, rank));
  Rank mine(rank);

  std::vector<Pair> pairs;
  const auto pairsOf = [npairs](std::size_t bytes) {
    return bytes >= (16u << 20) ? std::min(npairs, 15) : npairs;
  };
  pairs.push_back({"flag exchange", sized("all-reduce", 8), 1000, npairs, flags, mine.ordinary(8)});
  for (std::size_t bytes : {std::size_t{2} << 20, kMost}) {
    for (bool registered : {true, false})
      pairs.push_back({sized("two copies", bytes), sized(registered ? "registered" : "all-reduce", bytes),
                       iterationsFor(bytes), pairsOf(bytes), mine.copies(bytes, flags),
                       registered ? mine.registered(bytes) : mine.ordinary(bytes)});
  }
  for (bool registered : {false, true}) {
    for (std::size_t bytes = 8; bytes <= kMost; bytes *= 8)
      pairs.push_back({sized("MPI", bytes), sized(registered ? "registered" : "all-reduce", bytes),
                       iterationsFor(bytes), pairsOf(bytes), mine.mpi(bytes),
                       registered ? mine.registered(bytes) : mine.ordinary(bytes)});
  }

  const auto machine = describeMachine();
  if (rank == 0) {
    fmt::print("# {}, {} cores, {}, {}; MPI: {}\n", machine.cpu, machine.cores, machine.kernel, dateNow(),
               mpiName());
    printHeader("beside");
  }
  for (const Pair& pair : pairs) {
    if ((pair.beside + " " + pair.measured).find(wanted) != std::string::npos) play(pair, rank, flags);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int nranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &nranks);
  const int npairs = argc > 1 ? std::atoi(argv[1]) : 200;
  int status = 2;
  if (nranks == 2 && npairs >= 1 && argc <= 3)
    status = run(rank, npairs, argc > 2 ? argv[2] : "");
  else if (rank == 0 && nranks != 2)
    fmt::print(stderr, "processes_bench: it takes 2 processes, and {} counts {}: mpirun -n 2 of that MPI\n",
               mpiName(), nranks);
  else if (rank == 0)
    std::fprintf(stderr,
                 "usage: mpirun -n 2 processes_bench [pairs of batches, 200 [only names with this text]]\n");
  MPI_Finalize();
  return status;
}
