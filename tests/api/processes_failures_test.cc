// Processes that die, stand still, leave, differ, never come: what the others are told, and when.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/processes.h"
#include "tests/support/traces.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Within which everybody is told; sanitizers are slow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSoon = 20;
#else
constexpr double kSoon = 2;
#endif

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

TEST(Death, IsToldToRanksThatAreInNoCall) {
  Processes processes(3, [](int rank, const tuttiUniqueId& id) -> std::string {
    return onCommunicator(3, rank, id, configOf(), [&](tuttiComm_t comm) -> std::string {
      tuttiBarrier(comm, nullptr);
      Processes::tell();
      if (rank == 2) raise(SIGKILL);
      tuttiResult_t asynchronous = tuttiSuccess;
      const auto begin = Clock::now();
      while (asynchronous == tuttiSuccess && secondsSince(begin) < 30) {
        tuttiCommGetAsyncError(comm, &asynchronous);
        std::this_thread::sleep_for(1ms);
      }
      if (asynchronous != tuttiRemoteError || secondsSince(begin) > kSoon) return "not told in time";
      return has(tuttiGetLastError(comm), "rank 2 is gone") ? "" : tuttiGetLastError(comm);
    });
  });
  const auto ends = processes.waitForAll();
  EXPECT_EQ(ends[0].text + ends[1].text, "");
  EXPECT_TRUE(ends[2].isKilledBy(SIGKILL));
}

// The same for all: every survivor has the first cause, letter by letter.
TEST(Death, HasOneText) {
  Processes processes(4, [](int rank, const tuttiUniqueId& id) -> std::string {
    tuttiComm_t comm = nullptr;
    if (tuttiCommInitRank(&comm, 4, id, rank) != tuttiSuccess) return tuttiGetLastError(nullptr);
    tuttiBarrier(comm, nullptr);
    if (rank == 1) raise(SIGKILL);
    return untilItFails(comm, 10);
  });
  const auto ends = processes.waitForAll();
  EXPECT_TRUE(has(ends[0].text, "rank 1 is gone"));
  EXPECT_TRUE(has(ends[0].text, "process " + std::to_string(processes.pid(1)))) << ends[0].text;
  EXPECT_EQ(ends[2].text, ends[0].text);
  EXPECT_EQ(ends[3].text, ends[0].text);
}

TEST(Death, WithoutDestroyIsTold) {
  Processes processes(2, [](int rank, const tuttiUniqueId& id) -> std::string {
    tuttiComm_t comm = nullptr;
    if (tuttiCommInitRank(&comm, 2, id, rank) != tuttiSuccess) return tuttiGetLastError(nullptr);
    tuttiBarrier(comm, nullptr);
    if (rank == 1) return "";  // exits
    const std::string text = untilItFails(comm, 10);
    return has(text, "rank 1 is gone") ? "" : text;
  });
  for (const ProcessEnd& end : processes.waitForAll()) EXPECT_EQ(end.text, "");
}

// Whatever its threads are doing: none of them keeps it, and none crashes.
TEST(Death, ByExitBesideAThreadThatIsInCalls) {
  for (int round = 0; round < 10; ++round) {
    Processes processes(2, [&](int rank, const tuttiUniqueId& id) -> std::string {
      tuttiComm_t comm = nullptr;
      if (tuttiCommInitRank(&comm, 2, id, rank) != tuttiSuccess) return tuttiGetLastError(nullptr);
      if (rank == 1) {
        std::thread([comm] { untilItFails(comm, 10'000); }).detach();
        std::this_thread::sleep_for(round * 1ms);
        std::exit(0);
      }
      const std::string text = untilItFails(comm, 10'000);
      return has(text, "rank 1 is gone") ? "" : text;
    });
    for (const ProcessEnd& end : processes.waitForAll()) {
      EXPECT_EQ(end.text, "");
      EXPECT_EQ(end.status, 0);
    }
  }
}

// Who needs the leaver no more is not disturbed.
TEST(Leaving, IsNoError) {
  EXPECT_EQ(runProcesses(3,
                         [](int rank, const tuttiUniqueId& id) {
                           return onCommunicator(
                               3, rank, id, configOf(), [&](tuttiComm_t comm) -> std::string {
                                 tuttiBarrier(comm, nullptr);
                                 if (rank == 1) return "";
                                 std::this_thread::sleep_for(300ms);
                                 tuttiResult_t asynchronous = tuttiSuccess;
                                 tuttiCommGetAsyncError(comm, &asynchronous);
                                 return asynchronous == tuttiSuccess ? "" : tuttiGetLastError(comm);
                               });
                         }),
            "");
}

TEST(Leaving, GivesTheMemoryBack) {
  EXPECT_EQ(runProcesses(3,
                         [](int rank, const tuttiUniqueId& id) -> std::string {
                           const std::string wrong =
                               onCommunicator(3, rank, id, configOf(), [&](tuttiComm_t comm) -> std::string {
                                 std::vector<int> value(1000, 1);
                                 if (tuttiAllReduce(value.data(), value.data(), 1000, tuttiInt32, tuttiSum,
                                                    comm, nullptr) != tuttiSuccess)
                                   return tuttiGetLastError(comm);
                                 return arenasMapped() == 3 ? "" : "not three arenas are mapped";
                               });
                           return wrong.empty() ? peersMapped() : wrong;
                         }),
            "");
}

TEST(Freezing, EndsAtTheDeadlineOnly) {
  const auto run = [](std::int64_t timeoutMs) {
    return [timeoutMs](int rank, const tuttiUniqueId& id) -> std::string {
      return onCommunicator(2, rank, id, configOf(timeoutMs), [&](tuttiComm_t comm) -> std::string {
        std::vector<int> value(10, 1);
        const auto add = [&] {
          return tuttiAllReduce(value.data(), value.data(), 10, tuttiInt32, tuttiSum, comm, nullptr);
        };
        if (add() != tuttiSuccess) return tuttiGetLastError(comm);
        Processes::tell();
        if (rank == 1) raise(SIGSTOP);
        const std::clock_t cpu = std::clock();
        const tuttiResult_t result = add();
        if (rank == 1) return "";
        const double busy = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
        if (busy > 0.5) return "waiting took " + std::to_string(busy) + " s of a core";
        return result == tuttiSuccess ? "went on" : tuttiGetLastError(comm);
      });
    };
  };
  {
    Processes processes(2, run(60'000));
    ASSERT_TRUE(processes.hear() && processes.hear());
    std::this_thread::sleep_for(2s);
    processes.signal(1, SIGCONT);
    EXPECT_EQ(processes.wait(0).text, "went on");
  }
  Processes processes(2, run(1500));
  EXPECT_TRUE(has(processes.wait(0).text, "did not complete within 1500 ms")) << "frozen for ever";
}

// The pidfd of a dead process must not keep the others' service threads busy, although a stopped one holds it too.
TEST(Freezing, OfAThirdMakesNobodyBusy) {
  Processes processes(3, [](int rank, const tuttiUniqueId& id) -> std::string {
    tuttiComm_t comm = nullptr;
    if (tuttiCommInitRank(&comm, 3, id, rank) != tuttiSuccess) return tuttiGetLastError(nullptr);
    tuttiBarrier(comm, nullptr);
    Processes::tell();
    if (rank == 1) raise(SIGSTOP);
    if (rank == 2) {
      std::this_thread::sleep_for(200ms);
      raise(SIGKILL);
    }
    std::this_thread::sleep_for(500ms);
    const std::clock_t cpu = std::clock();
    std::this_thread::sleep_for(1s);
    const double busy = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
    return busy < 0.1 ? "" : "idling took " + std::to_string(busy) + " s of a core";
  });
  EXPECT_EQ(processes.wait(0).text, "");
}

TEST(Mismatch, IsNamedOnAllRanks) {
  Processes processes(3, [](int rank, const tuttiUniqueId& id) -> std::string {
    tuttiComm_t comm = nullptr;
    if (tuttiCommInitRank(&comm, 3, id, rank) != tuttiSuccess) return tuttiGetLastError(nullptr);
    std::vector<int> value(100, 1);
    const std::size_t count = rank == 1 ? 51 : 50;
    tuttiAllReduce(value.data(), value.data(), count, tuttiInt32, tuttiSum, comm, nullptr);
    std::string text = tuttiGetLastError(comm);
    tuttiCommDestroy(comm);
    return text;
  });
  const auto ends = processes.waitForAll();
  EXPECT_TRUE(has(ends[0].text, "rank 1: all-reduce sum i32 x 51") || has(ends[0].text, "51"))
      << ends[0].text;
  EXPECT_EQ(ends[1].text, ends[0].text);
  EXPECT_EQ(ends[2].text, ends[0].text);
}

TEST(Abort, IsToldToAll) {
  Processes processes(2, [](int rank, const tuttiUniqueId& id) -> std::string {
    tuttiComm_t comm = nullptr;
    if (tuttiCommInitRank(&comm, 2, id, rank) != tuttiSuccess) return tuttiGetLastError(nullptr);
    if (rank == 1) return tuttiCommAbort(comm) == tuttiSuccess ? "" : "abort";
    const std::string text = untilItFails(comm, 10);
    return has(text, "rank 1 called tuttiCommAbort") ? "" : text;
  });
  for (const ProcessEnd& end : processes.waitForAll()) EXPECT_EQ(end.text, "");
}

TEST(Init, NamesWhoIsMissing) {
  Processes processes(2, [](int rank, const tuttiUniqueId& id) -> std::string {
    if (rank == 1) {
      std::this_thread::sleep_for(1500ms);
      return "";
    }
    tuttiConfig_t config = configOf();
    config.initTimeoutMs = 500;
    const auto begin = Clock::now();
    tuttiComm_t comm = nullptr;
    if (tuttiCommInitRankConfig(&comm, 3, id, 0, &config) != tuttiTimeout) return "no timeout";
    if (secondsSince(begin) > 0.5 + kSoon) return "late";
    return tuttiGetLastError(nullptr);
  });
  EXPECT_TRUE(has(processes.wait(0).text, "ranks 1, 2")) << "not named";
}

// Also to ranks whose peer ends at once when it has been told.
TEST(Init, TellsAllWhoIsMissing) {
  for (int round = 0; round < 5; ++round) {
    Processes processes(4, [](int rank, const tuttiUniqueId& id) -> std::string {
      if (rank == 3) {
        std::this_thread::sleep_for(2s);
        return "";
      }
      tuttiConfig_t config = configOf();
      config.initTimeoutMs = 200;
      tuttiComm_t comm = nullptr;
      if (tuttiCommInitRankConfig(&comm, 4, id, rank, &config) != tuttiTimeout)
        return tuttiGetLastError(nullptr);
      return has(tuttiGetLastError(nullptr), "rank 3") ? "" : tuttiGetLastError(nullptr);
    });
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(processes.wait(rank).text, "");
  }
}

TEST(Init, NamesSettingsThatDiffer) {
  Processes processes(3, [](int rank, const tuttiUniqueId& id) -> std::string {
    const tuttiConfig_t config = configOf(rank == 2 ? 7000 : 8000);
    tuttiComm_t comm = nullptr;
    if (tuttiCommInitRankConfig(&comm, 3, id, rank, &config) != tuttiInvalidArgument) return "no refusal";
    return tuttiGetLastError(nullptr);
  });
  for (const ProcessEnd& end : processes.waitForAll()) {
    EXPECT_TRUE(has(end.text, "timeoutMs (TUTTI_TIMEOUT_MS) has to be the same on all ranks")) << end.text;
    EXPECT_TRUE(has(end.text, "rank 2: '7000'") && has(end.text, "ranks 0, 1: '8000'")) << end.text;
  }
}

// Rank 0's algorithm is everybody's.
TEST(Init, TakesTheAlgorithmOfRank0) {
  EXPECT_EQ(runProcesses(2,
                         [](int rank, const tuttiUniqueId& id) {
                           const tuttiConfig_t config = configOf(kPatientMs, rank == 0 ? "ring" : nullptr);
                           return onCommunicator(2, rank, id, config, [](tuttiComm_t comm) -> std::string {
                             int value = 1;
                             tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiSum, comm, nullptr);
                             const std::string algorithm = lastPlanOf(comm).algorithm;
                             return algorithm == "ring" && value == 2 ? "" : "by " + algorithm;
                           });
                         }),
            "");
}

TEST(Plan, TellsWhatWentToOtherProcesses) {
  EXPECT_EQ(runProcesses(2,
                         [](int process, const tuttiUniqueId& id) {
                           const auto run = [&](int rank) {
                             const tuttiConfig_t config = configOf(kPatientMs, "ring");
                             return onCommunicator(4, rank, id, config, [&](tuttiComm_t comm) -> std::string {
                               std::vector<float> value(4096, 1);
                               tuttiAllReduce(value.data(), value.data(), 4096, tuttiFloat32, tuttiSum, comm,
                                              nullptr);
                               // 0, 1 | 2, 3: ranks 1 and 3 send to the other process, 6 blocks of 4 KiB.
                               const tuttiPlan_t plan = lastPlanOf(comm);
                               const std::uint64_t direct = rank % 2 == 1 ? 6 * 4096 : 0;
                               if (plan.directBytes == direct && plan.inProcessBytes == 6 * 4096 - direct)
                                 return "";
                               return std::to_string(plan.directBytes) + " direct, " +
                                      std::to_string(plan.inProcessBytes) + " inside";
                             });
                           };
                           std::string other;
                           std::thread thread([&] { other = run(2 * process + 1); });
                           const std::string own = run(2 * process);
                           thread.join();
                           return own + other;
                         }),
            "");
}

// The caller's own all-gather in place of an id: here over a pipe that process 0 writes.
TEST(Init, ByTheCallersAllGather) {
  EXPECT_EQ(
      runProcesses(3,
                   [](int rank, const tuttiUniqueId& id) {
                     return onCommunicator(3, rank, id, configOf(), [&](tuttiComm_t first) -> std::string {
                       const auto gather = [](void* context, const void* mine, void* all, std::size_t bytes) {
                         return tuttiAllGather(mine, all, bytes, tuttiInt8, static_cast<tuttiComm_t>(context),
                                               nullptr);
                       };
                       tuttiComm_t comm = nullptr;
                       if (tuttiCommInitCallback(&comm, 3, rank, gather, first, nullptr) != tuttiSuccess)
                         return tuttiGetLastError(nullptr);
                       int value = 1;
                       tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiSum, comm, nullptr);
                       tuttiCommDestroy(comm);
                       return value == 3 ? "" : "wrong";
                     });
                   }),
      "");
}

// Several ranks of one thread.
TEST(Init, InAGroup) {
  EXPECT_EQ(runProcesses(2,
                         [](int process, const tuttiUniqueId& id) -> std::string {
                           tuttiComm_t comms[3] = {};
                           tuttiGroupStart();
                           for (int i = 0; i < 3; ++i) {
                             if (tuttiCommInitRank(&comms[i], 6, id, 3 * process + i) != tuttiSuccess)
                               return tuttiGetLastError(nullptr);
                             if (comms[i] != nullptr) return "before the end of the group";
                           }
                           if (tuttiGroupEnd() != tuttiSuccess) return tuttiGetLastError(nullptr);
                           int values[3] = {1, 1, 1};
                           tuttiGroupStart();
                           for (int i = 0; i < 3; ++i)
                             tuttiAllReduce(&values[i], &values[i], 1, tuttiInt32, tuttiSum, comms[i],
                                            nullptr);
                           if (tuttiGroupEnd() != tuttiSuccess) return tuttiGetLastError(nullptr);
                           for (tuttiComm_t comm : comms) tuttiCommDestroy(comm);
                           return values[0] == 6 && values[2] == 6 ? "" : "wrong";
                         }),
            "");
}

TEST(Init, InAGroupIsAllOrNothing) {
  EXPECT_EQ(runProcesses(1,
                         [](int, const tuttiUniqueId& id) -> std::string {
                           tuttiComm_t comms[2] = {};
                           tuttiGroupStart();
                           tuttiCommInitRank(&comms[0], 2, id, 1);
                           tuttiCommInitRank(&comms[1], 2, id, 1);  // the same rank twice
                           if (tuttiGroupEnd() != tuttiInvalidArgument) return "no refusal";
                           if (comms[0] != nullptr || comms[1] != nullptr) return "a handle was written";
                           return has(tuttiGetLastError(nullptr), "rank 1") ? "" : tuttiGetLastError(nullptr);
                         }),
            "");
}

// Memory that others cannot reach is refused as a window, and used all the same.
TEST(Register, OfMemoryThatIsNotShared) {
  EXPECT_EQ(runProcesses(
                2,
                [](int rank, const tuttiUniqueId& id) {
                  return onCommunicator(2, rank, id, configOf(), [&](tuttiComm_t comm) -> std::string {
                    std::vector<int> own(50'000, 1);
                    void* shared = nullptr;
                    void* handle = &shared;
                    tuttiMemAlloc(&shared, own.size() * sizeof(int), TUTTI_DEVICE_HOST);
                    if (tuttiCommRegister(comm, own.data(), own.size() * sizeof(int), &handle) !=
                            tuttiNotSupported ||
                        handle != nullptr)
                      return "not refused";
                    if (tuttiCommRegister(comm, shared, own.size() * sizeof(int), &handle) != tuttiSuccess)
                      return tuttiGetLastError(nullptr);
                    const auto add = [&](void* to) {
                      return tuttiAllReduce(own.data(), to, own.size(), tuttiInt32, tuttiSum, comm, nullptr);
                    };
                    if (add(shared) != tuttiSuccess) return tuttiGetLastError(comm);
                    if (std::string(lastPlanOf(comm).protocol) == "window") return "not through slots";
                    for (int i = 0; i < 50'000; ++i) {
                      if (static_cast<int*>(shared)[i] != 2) return "wrong";
                    }
                    tuttiMemFree(shared);
                    return "";
                  });
                }),
            "");
}

// Made over and over, destroyed in any order: nothing piles up.
TEST(Init, AHundredTimes) {
  EXPECT_EQ(runProcesses(2,
                         [](int rank, const tuttiUniqueId& id) -> std::string {
                           tuttiComm_t first = nullptr;
                           if (tuttiCommInitRank(&first, 2, id, rank) != tuttiSuccess)
                             return tuttiGetLastError(nullptr);
                           long before = 0;
                           for (int i = 0; i < 100; ++i) {
                             tuttiUniqueId next{};
                             if (rank == 0 && tuttiGetUniqueId(&next) != tuttiSuccess)
                               return tuttiGetLastError(nullptr);
                             tuttiBroadcast(&next, &next, sizeof(next), tuttiInt8, 0, first, nullptr);
                             tuttiComm_t comm = nullptr;
                             if (tuttiCommInitRank(&comm, 2, next, rank) != tuttiSuccess)
                               return tuttiGetLastError(nullptr);
                             int value = 1;
                             tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiSum, comm, nullptr);
                             if (value != 2) return "wrong";
                             if (tuttiCommDestroy(comm) != tuttiSuccess) return tuttiGetLastError(nullptr);
                             if (i == 10) before = openDescriptors();
                           }
                           if (openDescriptors() > before + 3) return "descriptors pile up";
                           tuttiCommDestroy(first);
                           return peersMapped();
                         }),
            "");
}

}  // namespace
}  // namespace tutti
