// What goes wrong on one rank's way into a communicator: every rank is told at once, with what helps, nothing is
// left behind, and the same processes then make a communicator.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/no_memory.h"
#include "tests/support/processes.h"
#include "tests/transport/shared/limits.h"

namespace {

// In the process that made the id: so many messages are sent, then it dies.
int sendsLeft = -1;

}  // namespace

// In place of the C library's, for the library as well.
extern "C" [[gnu::visibility("default")]] ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  if (sendsLeft >= 0 && sendsLeft-- == 0) kill(getpid(), SIGKILL);
  return syscall(SYS_sendmsg, socket, message, flags);
}

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;
constexpr int kVictim = 1;
constexpr double kAtOnce = 10;  // of the 60 s of an init

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What the processes of a test share beside the library: all-gathers of up to 128 bytes.
class Slate {
 public:
  void gather(int rank, const void* mine, void* all, std::size_t bytes, int nranks = kRanks) {
    const int round = rounds_[static_cast<std::size_t>(rank)]++;
    std::memcpy(places_[round][static_cast<std::size_t>(rank)].data(), mine, bytes);
    ++came_[round];
    // Not for ever: the others may have failed.
    for (int i = 0; i < 20'000 && came_[round] != nranks; ++i) std::this_thread::sleep_for(1ms);
    for (std::size_t from = 0; from < static_cast<std::size_t>(nranks); ++from)
      std::memcpy(static_cast<char*>(all) + from * bytes, places_[round][from].data(), bytes);
  }

  static Slate* make() {
    void* const memory =
        mmap(nullptr, sizeof(Slate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return new (memory) Slate;
  }

 private:
  static constexpr int kRounds = 8;
  std::array<int, kRanks> rounds_{};
  std::array<std::atomic<int>, kRounds> came_{};
  std::array<std::array<std::array<char, 128>, kRanks>, kRounds> places_{};
};

// Needs no descriptor itself.
int descriptorsOpen() {
  int open = 0;
  for (int number = 0; number < 1024; ++number) open += fcntl(number, F_GETFD) >= 0 ? 1 : 0;
  return open;
}

// Of this process's arena: what is reserved in it.
long arenaBytes() {
  for (int number = 0; number < 1024; ++number) {
    char name[64] = {};
    const std::string link = "/proc/self/fd/" + std::to_string(number);
    if (readlink(link.c_str(), name, sizeof(name) - 1) < 0 || !has(name, "tutti-arena")) continue;
    struct stat status = {};
    fstat(number, &status);
    return status.st_blocks * 512;
  }
  return 0;
}

tuttiConfig_t patientConfig() {
  tuttiConfig_t config = configOf();
  config.initTimeoutMs = kPatientMs;
  return config;
}

tuttiResult_t joinPlainly(tuttiComm_t* comm, const tuttiUniqueId& id, int rank) {
  const tuttiConfig_t config = patientConfig();
  return tuttiCommInitRankConfig(comm, kRanks, id, rank, &config);
}

// How the victim differs from the others.
struct Trouble {
  std::function<void()> begin = [] {};
  std::function<void()> end = [] {};  // if it has an end
  std::function<tuttiResult_t(tuttiComm_t* comm, const tuttiUniqueId& id)> join =
      [](tuttiComm_t* comm, const tuttiUniqueId& id) { return joinPlainly(comm, id, kVictim); };
  tuttiResult_t result = tuttiSystemError;
  std::vector<std::string> parts;  // of the text on all ranks
  bool named = true;               // as the victim's, on the others
  int left = 3;  // descriptors of the process, for good: the arena, and two of the service thread
};

std::string makeOneAfterAll(int rank, Slate& slate) {
  tuttiUniqueId own{};
  if (rank == 0 && tuttiGetUniqueId(&own) != tuttiSuccess) return tuttiGetLastError(nullptr);
  std::array<tuttiUniqueId, kRanks> ids;
  slate.gather(rank, &own, ids.data(), sizeof(own));
  return onCommunicator(kRanks, rank, ids[0], patientConfig(), [](tuttiComm_t comm) -> std::string {
    int value = 1;
    if (tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiSum, comm, nullptr) != tuttiSuccess)
      return tuttiGetLastError(comm);
    return value == kRanks ? "" : "wrong";
  });
}

std::string fallsInto(const Trouble& trouble, int rank, const tuttiUniqueId& id, Slate& slate) {
  const int before = descriptorsOpen();
  tuttiComm_t comm = nullptr;
  tuttiResult_t result = tuttiSuccess;
  std::string text;
  const auto begin = Clock::now();
  // In a thread of its own, which a filter spoils for good.
  std::thread([&] {
    if (rank == kVictim) trouble.begin();
    result = rank == kVictim ? trouble.join(&comm, id) : joinPlainly(&comm, id, rank);
    text = tuttiGetLastError(nullptr);
  }).join();
  const std::chrono::duration<double> took = Clock::now() - begin;
  if (rank == kVictim) trouble.end();
  if (result != trouble.result) return "answered " + std::to_string(result) + ": " + text;
  if (comm != nullptr) return "a handle was written";
  if (took.count() > kAtOnce) return "took " + std::to_string(took.count()) + " s";
  for (const std::string& part : trouble.parts) {
    if (!has(text, part)) return "no '" + part + "' in: " + text;
  }
  if (trouble.named && rank != kVictim && !has(text, "rank 1 (pid ")) return "not named: " + text;
  if (arenaBytes() != 0) return std::to_string(arenaBytes()) + " bytes of the arena are taken";
  const std::string wrong = makeOneAfterAll(rank, slate);
  if (!wrong.empty()) return "afterwards: " + wrong;
  // Peers are let go of by the service thread.
  const auto left = [&] { return descriptorsOpen() - before - trouble.left; };
  for (int i = 0; i < 200 && left() > 0; ++i) std::this_thread::sleep_for(10ms);
  return left() <= 0 ? "" : std::to_string(left()) + " descriptors too many";
}

std::string toldToAll(const Trouble& trouble) {
  Slate* const slate = Slate::make();
  return runProcesses(
      kRanks, [&](int rank, const tuttiUniqueId& id) { return fallsInto(trouble, rank, id, *slate); });
}

// ---- The system says no

TEST(Refused, CallsAreNamedToAll) {
  const struct {
    long number;
    const char* name;
  } calls[] = {{SYS_memfd_create, "memfd_create"},
               {SYS_pidfd_open, "pidfd_open"},
               {SYS_epoll_create1, "epoll_create1"},
               {SYS_eventfd2, "eventfd"},
               {SYS_getrandom, "getrandom"}};
  for (const auto& call : calls) {
    Trouble trouble;
    trouble.begin = [&] { refuseSystemCall(static_cast<int>(call.number), EPERM); };
    trouble.parts = {call.name, "Operation not permitted", "seccomp"};
    trouble.left = 4;  // libsodium keeps /dev/urandom open where there is no getrandom
    EXPECT_EQ(toldToAll(trouble), "") << call.name;
  }
}

// Who may not open a socket cannot tell, and is missed.
TEST(Refused, SocketsMakeARankThatIsMissed) {
  Processes processes(2, [](int rank, const tuttiUniqueId& id) -> std::string {
    std::string text;
    std::thread([&] {
      if (rank == 1) refuseSystemCall(SYS_socket, EPERM);
      tuttiConfig_t config = configOf();
      config.initTimeoutMs = 1500;
      tuttiComm_t comm = nullptr;
      const auto begin = Clock::now();
      const tuttiResult_t result = tuttiCommInitRankConfig(&comm, 2, id, rank, &config);
      const std::chrono::duration<double> took = Clock::now() - begin;
      text =
          result == (rank == 0 ? tuttiTimeout : tuttiSystemError) ? tuttiGetLastError(nullptr) : "no error";
      if (took.count() > (rank == 0 ? kAtOnce : 1)) text = "it took " + std::to_string(took.count()) + " s";
    }).join();
    return text;
  });
  const auto ends = processes.waitForAll();
  EXPECT_TRUE(has(ends[0].text, "rank 1 of 2 has not come within 1500 ms")) << ends[0].text;
  EXPECT_TRUE(has(ends[1].text, "socket failed: Operation not permitted. Allow socket")) << ends[1].text;
}

TEST(Refused, NoDescriptorsAreToldToAll) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP()
      << "undefined behaviour's sanitizer looks at memory through a pipe, and takes its lack for a fault";
#endif
  for (int free = 0; free <= 6; ++free) {
    Trouble trouble;
    std::vector<int> taken;
    rlimit whole = {};
    trouble.begin = [&] {
      getrlimit(RLIMIT_NOFILE, &whole);
      const rlimit few = {64, whole.rlim_max};
      setrlimit(RLIMIT_NOFILE, &few);
      for (int file = dup(0); file >= 0; file = dup(0)) taken.push_back(file);
      for (int i = 0; i < free; ++i) {
        close(taken.back());
        taken.pop_back();
      }
    };
    trouble.end = [&] {
      for (const int file : taken) close(file);
      setrlimit(RLIMIT_NOFILE, &whole);
    };
    trouble.parts = {"oo many open files", "ulimit -n"};
    EXPECT_EQ(toldToAll(trouble), "") << free << " free";
  }
}

TEST(Refused, NoAddressSpaceIsToldToAll) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << "a sanitizer's shadow does not fit a limited address space";
  for (const std::size_t room : {std::size_t{1} << 20, std::size_t{64} << 20}) {
    Trouble trouble;
    trouble.begin = [room] { leaveRoomFor(room); };
    trouble.end = leaveAllRoom;
    trouble.parts = {"no shared memory", "ulimit -v"};
    EXPECT_EQ(toldToAll(trouble), "") << room;
  }
}

TEST(Refused, SmallFilesAreToldToAll) {
  Trouble trouble;
  rlimit whole = {};
  trouble.begin = [&] {
    getrlimit(RLIMIT_FSIZE, &whole);
    const rlimit small = {10 << 20, whole.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  };
  trouble.end = [&] { setrlimit(RLIMIT_FSIZE, &whole); };
  trouble.parts = {"no shared memory", "10485760", "ulimit -f"};
  EXPECT_EQ(toldToAll(trouble), "");
}

// ---- The program says something wrong

TEST(Wrong, ArgumentsOfOneRankAreToldToAll) {
  const struct {
    const char* part;
    std::function<tuttiResult_t(tuttiComm_t*, const tuttiUniqueId&)> join;
  } calls[] = {
      {"comm is NULL",
       [](tuttiComm_t*, const tuttiUniqueId& id) { return tuttiCommInitRank(nullptr, kRanks, id, kVictim); }},
      {"initTimeoutMs",
       [](tuttiComm_t* comm, const tuttiUniqueId& id) {
         tuttiConfig_t config = configOf();
         config.initTimeoutMs = 0;
         return tuttiCommInitRankConfig(comm, kRanks, id, kVictim, &config);
       }},
      {"TUTTI_TIMEOUT_MS", [](tuttiComm_t* comm, const tuttiUniqueId& id) {
         setenv("TUTTI_TIMEOUT_MS", "soon", 1);
         const tuttiResult_t result = joinPlainly(comm, id, kVictim);
         unsetenv("TUTTI_TIMEOUT_MS");
         return result;
       }}};
  for (const auto& call : calls) {
    Trouble trouble;
    trouble.join = call.join;
    trouble.result = tuttiInvalidArgument;
    trouble.parts = {call.part};
    EXPECT_EQ(toldToAll(trouble), "") << call.part;
  }
}

TEST(Wrong, NumbersOfOneRankAreToldToAll) {
  const auto join = [](int nranks, int rank) {
    return
        [=](tuttiComm_t* comm, const tuttiUniqueId& id) { return tuttiCommInitRank(comm, nranks, id, rank); };
  };
  Trouble trouble;
  trouble.result = tuttiInvalidArgument;
  trouble.named = false;
  for (const auto& [nranks, rank] :
       {std::pair(0, kVictim), {kRanks, kRanks}, {kRanks, -1}, {2000, kVictim}}) {
    trouble.join = join(nranks, rank);
    EXPECT_EQ(toldToAll(trouble), "") << nranks << ' ' << rank;
  }
}

TEST(Wrong, SettingsThatDifferLeaveNothingBehind) {
  Trouble trouble;
  trouble.join = [](tuttiComm_t* comm, const tuttiUniqueId& id) {
    const tuttiConfig_t config = configOf(7000);
    return tuttiCommInitRankConfig(comm, kRanks, id, kVictim, &config);
  };
  trouble.result = tuttiInvalidArgument;
  trouble.parts = {"timeoutMs (TUTTI_TIMEOUT_MS) has to be the same on all ranks", "rank 1: '7000'"};
  trouble.named = false;
  EXPECT_EQ(toldToAll(trouble), "");
}

// A group begins nothing when a call in it is refused.
TEST(Wrong, AGroupThatBeginsNothingIsToldToAll) {
  Trouble trouble;
  trouble.join = [](tuttiComm_t* comm, const tuttiUniqueId& id) {
    tuttiGroupStart();
    joinPlainly(comm, id, kVictim);
    tuttiBarrier(nullptr, nullptr);
    return tuttiGroupEnd();
  };
  trouble.result = tuttiInvalidArgument;
  trouble.parts = {"nothing of the group was begun", "tuttiBarrier", "comm is NULL"};
  EXPECT_EQ(toldToAll(trouble), "");
}

bool isStopped(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text);
  return has(text, ") T ");
}

// However many of its ids the group has.
TEST(Wrong, AGroupThatBeginsNothingWaitsOnceForAProcessThatStandsStill) {
  constexpr int kIds = 4;
  struct Maker {
    std::array<tuttiUniqueId, kIds> ids;
    std::atomic<pid_t> pid{0};
  };
  void* const memory =
      mmap(nullptr, sizeof(Maker), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const maker = new (memory) Maker;
  EXPECT_EQ(runProcesses(2,
                         [&](int process, const tuttiUniqueId&) -> std::string {
                           if (process == 0) {
                             for (tuttiUniqueId& id : maker->ids) tuttiGetUniqueId(&id);
                             maker->pid = getpid();
                             raise(SIGSTOP);
                             return "";
                           }
                           while (maker->pid == 0 || !isStopped(maker->pid)) std::this_thread::sleep_for(1ms);
                           tuttiConfig_t config = patientConfig();
                           config.initTimeoutMs = 2000;
                           tuttiComm_t comm = nullptr;
                           tuttiGroupStart();
                           for (const tuttiUniqueId& id : maker->ids)
                             for (int rank = 0; rank < kRanks; ++rank)
                               tuttiCommInitRankConfig(&comm, kRanks, id, rank, &config);
                           tuttiBarrier(nullptr, nullptr);
                           const auto begin = Clock::now();
                           const tuttiResult_t result = tuttiGroupEnd();
                           const std::chrono::duration<double> took = Clock::now() - begin;
                           kill(maker->pid, SIGCONT);
                           if (result != tuttiInvalidArgument) return tuttiGetLastError(nullptr);
                           return took.count() < kAtOnce ? "" : "took " + std::to_string(took.count()) + " s";
                         }),
            "");
}

// ---- The program's own all-gather

struct Gatherer {
  Slate& slate;
  int rank;

  static tuttiResult_t gather(void* context, const void* mine, void* all, std::size_t bytes) {
    auto* const self = static_cast<Gatherer*>(context);
    self->slate.gather(self->rank, mine, all, bytes);
    return tuttiSuccess;
  }
};

TEST(AllGather, IsMadeByARankWithWrongSettings) {
  for (const int victim : {0, 1}) {
    Slate* const slate = Slate::make();
    EXPECT_EQ(runProcesses(kRanks,
                           [&](int rank, const tuttiUniqueId&) -> std::string {
                             Gatherer gatherer{*slate, rank};
                             tuttiConfig_t config = patientConfig();
                             if (rank == victim) config.timeoutMs = 0;
                             tuttiComm_t comm = nullptr;
                             const auto begin = Clock::now();
                             const tuttiResult_t result = tuttiCommInitCallback(
                                 &comm, kRanks, rank, Gatherer::gather, &gatherer, &config);
                             const std::string text = tuttiGetLastError(nullptr);
                             if (result != tuttiInvalidArgument || !has(text, "timeoutMs is '0'"))
                               return text;
                             if (Clock::now() - begin > 10s) return "late";
                             const std::string name = "rank " + std::to_string(victim) + " (pid ";
                             return rank == victim || has(text, name) ? "" : text;
                           }),
              "")
        << victim;
  }
}

TEST(AllGather, MayAnswerAnything) {
  for (const auto& [answer, result] : {std::pair(42, tuttiInvalidUsage),
                                       {tuttiInProgress, tuttiInvalidUsage},
                                       {-1, tuttiInvalidUsage},
                                       {tuttiTimeout, tuttiTimeout},
                                       {tuttiRemoteError, tuttiRemoteError}}) {
    int number = answer;
    const auto gather = [](void* context, const void*, void*, std::size_t) -> tuttiResult_t {
      return *static_cast<int*>(context);
    };
    tuttiComm_t comm = nullptr;
    EXPECT_EQ(tuttiCommInitCallback(&comm, 2, 1, gather, &number, nullptr), result);
    EXPECT_TRUE(
        has(tuttiGetLastError(nullptr), "allGather, the program's own, answered " + std::to_string(answer)))
        << tuttiGetLastError(nullptr);
  }
}

// ---- The process that made the id, which is no rank, dies

// In place of any of the messages by which the ranks meet, or later.
TEST(MakerOfTheId, MayDieAtAnyMoment) {
  constexpr int kMessages = 14;  // challenge, welcome, outcome, give, two contributions, done; to two ranks
  int made = 0;
  for (int sends = 0; sends <= kMessages; ++sends) {
    const auto body = [](int process, const tuttiUniqueId& id) -> std::string {
      if (process == 0) {
        std::this_thread::sleep_for(300ms);
        raise(SIGKILL);
      }
      tuttiComm_t comm = nullptr;
      const tuttiConfig_t config = patientConfig();
      if (tuttiCommInitRankConfig(&comm, 2, id, process - 1, &config) != tuttiSuccess)
        return arenaBytes() == 0 ? tuttiGetLastError(nullptr) : "memory is taken";
      int value = 1;
      if (tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiSum, comm, nullptr) != tuttiSuccess)
        return std::string("later: ") + tuttiGetLastError(comm);
      tuttiCommDestroy(comm);
      return value == 2 ? "" : "wrong";
    };
    Processes processes(3, body, [sends](int process) {
      if (process == 0) sendsLeft = sends;
      return std::string();
    });
    const auto ends = processes.waitForAll();
    const std::string &first = ends[1].text, &second = ends[2].text;
    ASSERT_EQ(first.empty(), second.empty()) << "after " << sends << ": " << first << " | " << second;
    ASSERT_TRUE(first.empty() || has(first, "has ended")) << first;
    ASSERT_TRUE(second.empty() || has(second, "has ended")) << second;
    made += first.empty();
  }
  EXPECT_EQ(made, 3) << "without any, one or two of the last messages";
}

// ---- Memory runs out on the way

// Joins by the id of `slate` with no more memory than `room`, and makes a call; "" or what it was told.
std::string joinsWith(std::size_t room, int rank, Slate& slate) {
  tuttiUniqueId own{};
  std::array<tuttiUniqueId, kRanks> ids;
  if (rank == 0) tuttiGetUniqueId(&own);
  slate.gather(rank, &own, ids.data(), sizeof(own), 2);
  const tuttiConfig_t config = patientConfig();
  tuttiComm_t comm = nullptr;
  tuttiResult_t result = tuttiSuccess;
  const auto begin = Clock::now();
  if (rank == 1) {
    const Hoard hoard(room);
    result = tuttiCommInitRankConfig(&comm, 2, ids[0], rank, &config);
  } else {
    result = tuttiCommInitRankConfig(&comm, 2, ids[0], rank, &config);
  }
  std::string told = result == tuttiSuccess ? "" : std::string("at once: ") + tuttiGetLastError(nullptr);
  if (comm != nullptr) {
    if (tuttiBarrier(comm, nullptr) != tuttiSuccess) told = std::string("later: ") + tuttiGetLastError(comm);
    tuttiCommDestroy(comm);
  }
  const std::chrono::duration<double> took = Clock::now() - begin;
  return took.count() < kAtOnce ? told : "late: " + told;
}

// Whatever allocation fails, also behind the point where the others have the communicator already. A rank tells with
// a kilobyte or so.
TEST(Memory, ThatRunsOutAnywhereIsToldToAll) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << "a sanitizer has memory of its own";
  int atOnce = 0;
  int later = 0;
  for (std::size_t room = 2000; room < 100'000; room += room / 12) {
    Slate* const slate = Slate::make();
    // Inside another communicator, so that the arenas are there and mapped.
    Processes processes(2, [&](int rank, const tuttiUniqueId& id) {
      return onCommunicator(2, rank, id, patientConfig(),
                            [&](tuttiComm_t) { return joinsWith(room, rank, *slate); });
    });
    const auto ends = processes.waitForAll();
    for (const ProcessEnd& end : ends) ASSERT_TRUE(WIFEXITED(end.status)) << room << ": " << end.text;
    const std::string& told = ends[0].text;
    EXPECT_EQ(told.empty(), ends[1].text.empty()) << room << ": " << told << " | " << ends[1].text;
    if (told.empty()) continue;
    EXPECT_TRUE(has(ends[1].text, "out of memory")) << room << ": " << ends[1].text;
    if (has(told, "at once: ")) {
      EXPECT_TRUE(has(told, "rank 1 (pid ")) << room << ": " << told;
      ++atOnce;
    } else {
      EXPECT_TRUE(has(told, "later: rank 1 ran out of memory")) << room << ": " << told;
      ++later;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(atOnce, 0);
  EXPECT_GT(later, 0);
}

TEST(Memory, IsNotNeededToEnd) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << "a sanitizer has memory of its own";
  EXPECT_EQ(runProcesses(2,
                         [](int rank, const tuttiUniqueId& id) -> std::string {
                           tuttiComm_t comm = nullptr;
                           if (tuttiCommInitRank(&comm, 2, id, rank) != tuttiSuccess)
                             return tuttiGetLastError(nullptr);
                           std::vector<int> value(100'000, 1);
                           tuttiAllReduce(value.data(), value.data(), value.size(), tuttiInt32, tuttiSum,
                                          comm, nullptr);
                           tuttiResult_t result = tuttiSuccess;
                           {
                             const Hoard hoard;
                             result = tuttiCommDestroy(comm);
                           }
                           return result == tuttiSuccess ? "" : tuttiGetLastError(nullptr);
                         }),
            "");
}

}  // namespace
}  // namespace tutti
