// Two hundred processes are killed at random moments of what they share with others: the survivors are told, and
// nothing of the dead is left, neither in them nor in the system.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/processes.h"
#include "tests/support/surroundings.h"
#include "tests/support/traces.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kKills = 200;
constexpr auto kLimit = 50s;          // of a slow machine, which kills fewer
constexpr auto kInitTimeout = 500ms;  // where some never come

constexpr double kSoon = 20;  // within which everybody is told; the deadline of a call is later

enum class Moment { init, betweenCalls, smallCalls, largeCalls, registeredCalls, destroy };
constexpr const char* kMoments[] = {"init",        "between calls",    "small calls",
                                    "large calls", "registered calls", "destroy"};
constexpr int kMomentCount = std::size(kMoments);

struct Round {
  Moment moment;
  int nranks;
  int victim;
  std::chrono::microseconds delay;
};

Round roundOf(std::mt19937& random, int number) {
  Round round{};
  round.moment = static_cast<Moment>(number % kMomentCount);
  round.nranks = 2 + static_cast<int>(random() % 3);
  round.victim = static_cast<int>(random() % static_cast<unsigned>(round.nranks));
  const bool isShort = round.moment == Moment::init || round.moment == Moment::destroy;
  round.delay = std::chrono::microseconds(random() % (isShort ? 4'000 : 20'000));
  return round;
}

std::string untilWindowsFail(tuttiComm_t comm, double* seconds) {
  constexpr std::size_t kCount = 300'000;
  void* memory = nullptr;
  void* handle = nullptr;
  if (tuttiMemAlloc(&memory, kCount * sizeof(float), TUTTI_DEVICE_HOST) != tuttiSuccess)
    return tuttiGetLastError(nullptr);
  if (tuttiCommRegister(comm, memory, kCount * sizeof(float), &handle) == tuttiSuccess) {
    std::fill_n(static_cast<float*>(memory), kCount, 0.0f);
    for (tuttiResult_t result = tuttiSuccess; result == tuttiSuccess;) {
      const auto begin = Clock::now();
      result = tuttiAllReduce(memory, memory, kCount, tuttiFloat32, tuttiSum, comm, nullptr);
      *seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    }
  }
  std::string text = tuttiGetLastError(comm);
  return tuttiMemFree(memory) == tuttiSuccess ? text : tuttiGetLastError(nullptr);
}

std::string untilPausesFail(tuttiComm_t comm) {
  float value = 0;
  while (tuttiAllReduce(&value, &value, 1, tuttiFloat32, tuttiSum, comm, nullptr) == tuttiSuccess)
    std::this_thread::sleep_for(1ms);
  return tuttiGetLastError(comm);
}

std::string untilTold(Moment moment, tuttiComm_t comm, double* seconds) {
  switch (moment) {
    case Moment::betweenCalls:
      return untilPausesFail(comm);
    case Moment::largeCalls:
      return untilItFails(comm, 300'000, seconds);
    case Moment::registeredCalls:
      return untilWindowsFail(comm, seconds);
    default:
      return untilItFails(comm, 4, seconds);
  }
}

// What one rank goes through until its victim is dead. In init and destroy anything may come of it, in time.
std::string live(const Round& round, int rank, const tuttiUniqueId& id) {
  const tuttiConfig_t config = configOf();
  if (round.moment == Moment::init) Processes::tell();
  tuttiComm_t comm = nullptr;
  const auto begin = Clock::now();
  if (tuttiCommInitRankConfig(&comm, round.nranks, id, rank, &config) != tuttiSuccess) {
    const std::string text = tuttiGetLastError(nullptr);
    if (round.moment != Moment::init) return text;
    if (Clock::now() - begin > kInitTimeout + std::chrono::duration<double>(kSoon)) return "late: " + text;
    return text.empty() ? "no text" : "";
  }
  if (round.moment == Moment::destroy && tuttiBarrier(comm, nullptr) != tuttiSuccess)
    return tuttiGetLastError(comm);
  if (round.moment != Moment::init) Processes::tell();
  if (round.moment != Moment::destroy) {
    double seconds = 0;
    const std::string text = untilTold(round.moment, comm, &seconds);
    if (text.find("rank " + std::to_string(round.victim) + " is gone") == std::string::npos)
      return "not named: " + text;
    if (seconds > kSoon) return "it took " + std::to_string(seconds) + " s";
    tuttiResult_t asynchronous = tuttiSuccess;
    tuttiCommGetAsyncError(comm, &asynchronous);
    if (asynchronous != tuttiRemoteError) return "async error " + std::to_string(asynchronous);
  }
  const tuttiResult_t destroyed = tuttiCommDestroy(comm);
  if (rank == round.victim) pause();
  return destroyed == tuttiSuccess ? "" : tuttiGetLastError(nullptr);
}

// In a communicator of its own, so that the process has all that it has once.
std::string beAlone() {
  tuttiUniqueId id{};
  tuttiComm_t comm = nullptr;
  if (tuttiGetUniqueId(&id) != tuttiSuccess || tuttiCommInitRank(&comm, 1, id, 0) != tuttiSuccess ||
      tuttiCommDestroy(comm) != tuttiSuccess)
    return tuttiGetLastError(nullptr);
  return "";
}

void kill(const Round& round) {
  long descriptors = 0;  // of each process
  Processes processes(
      round.nranks,
      [&](int rank, const tuttiUniqueId& id) -> std::string {
        const std::string wrong = live(round, rank, id);
        if (!wrong.empty()) return wrong;
        const std::string mapped = peersMapped();
        if (!mapped.empty()) return mapped;
        const auto areClosed = [&] {
          // The meeting of a failed init goes on for those who come late, and is swept up by a later id.
          if (round.moment == Moment::init && rank == 0) beAlone();
          return openDescriptors() <= descriptors;
        };
        if (comesTrue(areClosed)) return "";
        return std::to_string(openDescriptors() - descriptors) + " descriptors are left";
      },
      [&](int) {
        if (round.moment == Moment::init)
          setenv("TUTTI_INIT_TIMEOUT_MS", std::to_string(kInitTimeout.count()).c_str(), 1);
        const std::string wrong = beAlone();
        descriptors = openDescriptors() - 2;  // a pipe brings the id, and is closed then
        return wrong;
      });
  for (int rank = 0; rank < round.nranks; ++rank) ASSERT_TRUE(processes.hear());
  std::this_thread::sleep_for(round.delay);
  processes.signal(round.victim, SIGKILL);
  for (int rank = 0; rank < round.nranks; ++rank) {
    const ProcessEnd end = processes.wait(rank);
    EXPECT_EQ(end.text, "") << "rank " << rank;
    EXPECT_EQ(end.status, rank == round.victim ? SIGKILL : 0) << "rank " << rank;
  }
}

// Everything in these namespaces is ours.
void expectNothingInTheSystem() {
  EXPECT_TRUE(std::filesystem::is_empty("/dev/shm"));
  EXPECT_EQ(linesWith("/proc/sysvipc/shm", ""), 1) << "only the heading, no segments";
  EXPECT_TRUE(comesTrue([] { return linesWith("/proc/net/unix", "@") == 0; })) << "abstract sockets";
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "an orphan";
  EXPECT_EQ(errno, ECHILD);
}

unsigned seed() {
  const char* const given = std::getenv("TUTTI_TEST_SEED");
  return given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device()();
}

TEST(Leftovers, OfKilledProcessesAreNone) {
  const Surroundings own{CLONE_NEWIPC | CLONE_NEWNS | CLONE_NEWNET | (geteuid() == 0 ? 0 : CLONE_NEWUSER),
                         {{"/dev/shm", "size=1m"}}};
  const std::string refusal = refusalOf(own);
  if (!refusal.empty()) GTEST_SKIP() << "namespaces in which everything is ours are refused: " << refusal;
  ASSERT_EQ(enter(own), "");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const unsigned first = seed();
  std::printf("TUTTI_TEST_SEED=%u\n", first);
  std::fflush(stdout);  // not once more by each child
  std::mt19937 random(first);
  const auto end = Clock::now() + kLimit;
  int kills = 0;
  for (; kills < kKills && Clock::now() < end; ++kills) {
    const Round round = roundOf(random, kills);
    SCOPED_TRACE("seed " + std::to_string(first) + ", kill " + std::to_string(kills) + " in " +
                 kMoments[static_cast<int>(round.moment)] + ": rank " + std::to_string(round.victim) +
                 " of " + std::to_string(round.nranks) + " after " + std::to_string(round.delay.count()) +
                 " us");
    kill(round);
    expectNothingInTheSystem();
    if (HasFailure()) return;
  }
  std::printf("%d kills\n", kills);
}

}  // namespace
}  // namespace tutti
