// A process that stands still in the middle of reading windows: who leaves the broken call waits for it, because its
// buffers may be freed next, and meanwhile goes on with its other communicators.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/processes.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;

constexpr int kCount = 60'000;
constexpr std::size_t kBytes = kCount * sizeof(int);

// Shared by the test's processes.
struct Stage {
  std::atomic<bool> isInside{false};
  std::atomic<bool> mayGoOn{false};
};
Stage* stage = nullptr;

void await(const std::atomic<bool>& event) {
  while (!event) usleep(1000);
}

// A page that stops whoever touches it until it may go on.
std::byte* trap = nullptr;
constexpr std::size_t kTrapBytes = 4096;

void standStill(int) {
  stage->isInside = true;
  await(stage->mayGoOn);
  mprotect(trap, kTrapBytes, PROT_READ | PROT_WRITE);
}

// In the middle of its window, which is its own part of the sum.
void setTrap(void* window) {
  trap = static_cast<std::byte*>(window) + kBytes / 2 / kTrapBytes * kTrapBytes;
  struct sigaction action {};
  action.sa_handler = standStill;
  sigaction(SIGSEGV, &action, nullptr);
  mprotect(trap, kTrapBytes, PROT_NONE);
}

tuttiResult_t addInPlace(void* values, std::size_t count, tuttiComm_t comm) {
  return tuttiAllReduce(values, values, count, tuttiInt32, tuttiSum, comm, nullptr);
}

// One of three ranks, whose buffer is a window.
struct Rank {
  tuttiComm_t comm = nullptr;
  void* window = nullptr;
  tuttiComm_t pair = nullptr;  // of ranks 0 and 2

  std::string join(int rank, const tuttiUniqueId& id) {
    tuttiUniqueId idOfPair{};
    void* handle = nullptr;
    const tuttiConfig_t config = configOf(), shorter = configOf(kPatientMs / 3);
    if (tuttiCommInitRankConfig(&comm, 3, id, rank, &config) != tuttiSuccess ||
        (rank == 0 && tuttiGetUniqueId(&idOfPair) != tuttiSuccess) ||
        tuttiBroadcast(&idOfPair, &idOfPair, sizeof(idOfPair), tuttiInt8, 0, comm, nullptr) != tuttiSuccess ||
        (rank != 1 && tuttiCommInitRankConfig(&pair, 2, idOfPair, rank / 2, &shorter) != tuttiSuccess) ||
        tuttiMemAlloc(&window, kBytes, TUTTI_DEVICE_HOST) != tuttiSuccess ||
        tuttiCommRegister(comm, window, kBytes, &handle) != tuttiSuccess)
      return tuttiGetLastError(nullptr);
    return "";
  }

  // Whether an all-reduce on the windows has failed, and not before its buffer was the caller's.
  static std::string failed(tuttiResult_t result) {
    if (result == tuttiSuccess) return "the call has not failed";
    return stage->mayGoOn ? "" : "left a call while a peer was in the middle of its window";
  }
};

// More than fits in the slots of the pair: it takes both to go on.
constexpr std::size_t kMany = 1'000'000;

std::string inAGroup(const Rank& rank) {
  std::vector<int> values(kMany, 1);
  tuttiGroupStart();
  addInPlace(rank.window, kCount, rank.comm);
  addInPlace(values.data(), kMany, rank.pair);
  const tuttiResult_t result = tuttiGroupEnd();
  if (values != std::vector<int>(kMany, 2)) return "the other communicator of the group was not served";
  if (std::string(lastPlanOf(rank.comm).protocol) != "window") return "not by windows";
  if (result != tuttiRemoteError) return tuttiGetLastError(nullptr);
  return Rank::failed(result);
}

// Whether its call fails depends on what the others had sent before they left.
void standsStill(const Rank& rank) {
  setTrap(rank.window);
  addInPlace(rank.window, kCount, rank.comm);
}

// Breaks the first communicator while rank 1 stands still, then needs rank 0 in the second.
std::string inAThread(const Rank& rank) {
  std::string wrong;
  std::thread first([&] { wrong = Rank::failed(addInPlace(rank.window, kCount, rank.comm)); });
  await(stage->isInside);
  tuttiCommAbort(rank.comm);
  std::this_thread::sleep_for(300ms);  // by then rank 0 has noticed
  std::vector<int> values(kMany, 1);
  std::string other;
  if (addInPlace(values.data(), kMany, rank.pair) != tuttiSuccess) other = tuttiGetLastError(nullptr);
  std::this_thread::sleep_for(300ms);  // rank 0 has to stay in the first
  stage->mayGoOn = true;
  first.join();
  return wrong + other;
}

TEST(Windows, InUseByOneThatStandsStillKeepNoOtherCommunicatorOfTheGroup) {
  void* const shared =
      mmap(nullptr, sizeof(Stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  stage = new (shared) Stage;
  EXPECT_EQ(runProcesses(3,
                         [](int process, const tuttiUniqueId& id) -> std::string {
                           Rank rank;
                           std::string wrong = rank.join(process, id);
                           if (!wrong.empty()) return wrong;
                           if (process == 0) wrong = inAGroup(rank);
                           if (process == 1) standsStill(rank);
                           if (process == 2) wrong = inAThread(rank);
                           if (process != 2) tuttiCommDestroy(rank.comm);
                           if (process != 1) tuttiCommDestroy(rank.pair);
                           tuttiMemFree(rank.window);
                           return wrong;
                         }),
            "");
  munmap(shared, sizeof(Stage));
}

}  // namespace
}  // namespace tutti
