// Ranks that join by an id and are threads of one process: what one of them is promised holds for it whatever the others
// of the process do. In a child, because the settings come from its environment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/processes.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

tuttiConfig_t joiningWithin(std::int64_t initTimeoutMs) {
  tuttiConfig_t config = configOf();
  config.initTimeoutMs = initTimeoutMs;
  return config;
}

std::string inAChild(const std::function<std::string()>& body) {
  return runProcesses(1, [&](int, const tuttiUniqueId&) { return body(); });
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

// The id was made where another limit holds.
TEST(Joining, TheRanksOwnDeadlineCounts) {
  EXPECT_EQ(inAChild([]() -> std::string {
              tuttiUniqueId id;
              setenv("TUTTI_INIT_TIMEOUT_MS", "300", 1);
              if (tuttiGetUniqueId(&id) != tuttiSuccess) return tuttiGetLastError(nullptr);
              unsetenv("TUTTI_INIT_TIMEOUT_MS");
              const tuttiConfig_t config = joiningWithin(60'000);
              return joined(onRanks(2, [&](int rank) -> std::string {
                if (rank == 1) std::this_thread::sleep_for(1s);
                tuttiComm_t comm = nullptr;
                if (tuttiCommInitRankConfig(&comm, 2, id, rank, &config) != tuttiSuccess)
                  return tuttiGetLastError(nullptr);
                return tuttiCommDestroy(comm) == tuttiSuccess ? "" : "not destroyed";
              }));
            }),
            "");
}

struct Messages {
  bool gone = false;
  std::string text;

  static void take(void* context, tuttiLogLevel_t, const char* text) {
    auto* const self = static_cast<Messages*>(context);
    self->text += self->gone ? "after its end: " : "";
    self->text += text;
  }
};

// One goes, then the other has something to be told. Which of the two came first is chance.
std::string messageAfter(int gone) {
  tuttiUniqueId id;
  if (tuttiGetUniqueId(&id) != tuttiSuccess) return tuttiGetLastError(nullptr);
  Messages messages[2];
  tuttiComm_t comms[2] = {};
  onRanks(2, [&](int rank) {
    tuttiConfig_t config = joiningWithin(60'000);
    config.logCallback = Messages::take;
    config.logContext = &messages[rank];
    tuttiCommInitRankConfig(&comms[rank], 2, id, rank, &config);
  });
  char memory[64];
  void* handle = nullptr;
  tuttiCommDestroy(comms[gone]);
  messages[gone].gone = true;
  tuttiCommRegister(comms[1 - gone], memory, sizeof(memory), &handle);
  tuttiCommDestroy(comms[1 - gone]);
  if (has(messages[gone].text, "after its end")) return messages[gone].text;
  return has(messages[1 - gone].text, "memory could not be registered") ? ""
                                                                        : "heard: " + messages[1 - gone].text;
}

TEST(Joining, MessagesGoToTheRankThatTheyAreOf) {
  for (int round = 0; round < 8; ++round)
    ASSERT_EQ(inAChild([round] { return messageAfter(round % 2); }), "") << "round " << round;
}

// What ranks that are threads gather; rank 0's own answers an error once all have all.
struct Gathering {
  struct Slate {
    std::atomic<int> came{0};
    char id[128];
  };
  Slate* slate;
  int rank;

  static tuttiResult_t gather(void* context, const void* mine, void* all, std::size_t bytes) {
    const auto* self = static_cast<Gathering*>(context);
    if (self->rank == 0) std::memcpy(self->slate->id, mine, bytes);
    ++self->slate->came;
    while (self->slate->came != 2) std::this_thread::yield();
    std::memcpy(all, self->slate->id, bytes);
    return self->rank == 0 ? tuttiRemoteError : tuttiSuccess;
  }
};

TEST(Joining, AnAllGatherThatFailsOnRank0IsToldToTheOthers) {
  EXPECT_EQ(
      inAChild([]() -> std::string {
        Gathering::Slate slate;
        const tuttiConfig_t config = joiningWithin(60'000);
        const auto began = Clock::now();
        const auto texts = onRanks(2, [&](int rank) -> std::string {
          Gathering gathering{&slate, rank};
          tuttiComm_t comm = nullptr;
          if (tuttiCommInitCallback(&comm, 2, rank, Gathering::gather, &gathering, &config) == tuttiSuccess)
            return "joined";
          return tuttiGetLastError(nullptr);
        });
        if (Clock::now() - began > 10s) return "late";
        return has(texts[0], "answered 6") && has(texts[1], "rank 0 (pid") && has(texts[1], "answered 6")
                   ? ""
                   : texts[0] + texts[1];
      }),
      "");
}

// A group joins two communicators, one of which comes to nothing: the other ranks of the first hear why.
TEST(Joining, WhatAGroupGivesUpIsToldToItsRanks) {
  EXPECT_EQ(inAChild([]() -> std::string {
              tuttiUniqueId whole, broken;
              if (tuttiGetUniqueId(&whole) != tuttiSuccess || tuttiGetUniqueId(&broken) != tuttiSuccess)
                return tuttiGetLastError(nullptr);
              const tuttiConfig_t config = joiningWithin(60'000);
              return joined(onRanks(2, [&](int rank) -> std::string {
                tuttiComm_t first = nullptr, second = nullptr;
                if (rank == 0) {
                  tuttiGroupStart();
                  tuttiCommInitRankConfig(&first, 2, whole, 0, &config);
                  tuttiCommInitRankConfig(&second, 2, broken, 0, &config);
                  if (tuttiGroupEnd() == tuttiSuccess) return "the group was made";
                  return first == nullptr && second == nullptr ? "" : "half of a group";
                }
                if (tuttiCommInitRankConfig(&first, 2, whole, 1, &config) != tuttiSuccess)
                  return tuttiGetLastError(nullptr);
                tuttiCommInitRankConfig(&second, 2, broken, 7, &config);  // which no rank is
                tuttiResult_t result = tuttiSuccess;
                const auto began = Clock::now();
                while (result == tuttiSuccess && Clock::now() - began < 30s)
                  tuttiCommGetAsyncError(first, &result);
                const std::string text = tuttiGetLastError(first);
                tuttiCommDestroy(first);
                return result == tuttiRemoteError && has(text, "rank 0 has no communicator after all") ? ""
                                                                                                       : text;
              }));
            }),
            "");
}

// All ranks of a group that begins nothing are of this process, and the last has been told when it is over.
TEST(Joining, AGroupThatBeginsNothingWaitsForNobody) {
  EXPECT_EQ(inAChild([]() -> std::string {
              constexpr int kRanks = 8;
              tuttiUniqueId id;
              if (tuttiGetUniqueId(&id) != tuttiSuccess) return tuttiGetLastError(nullptr);
              const tuttiConfig_t config = joiningWithin(60'000);
              tuttiComm_t comms[kRanks] = {};
              tuttiGroupStart();
              for (int rank = 0; rank < kRanks; ++rank)
                tuttiCommInitRankConfig(&comms[rank], kRanks, id, rank, &config);
              tuttiBarrier(nullptr, nullptr);  // which is refused
              const auto began = Clock::now();
              if (tuttiGroupEnd() != tuttiInvalidArgument) return "the group was made";
              return Clock::now() - began < 400ms ? "" : "it waited";
            }),
            "");
}

// Ranks that never come keep it for half a second, however many communicators they are of.
TEST(Joining, AGroupThatBeginsNothingWaitsOnce) {
  EXPECT_EQ(inAChild([]() -> std::string {
              constexpr int kCommunicators = 8;
              tuttiUniqueId ids[kCommunicators];
              const tuttiConfig_t config = joiningWithin(60'000);
              tuttiComm_t comms[kCommunicators] = {};
              tuttiGroupStart();
              for (int i = 0; i < kCommunicators; ++i) {
                if (tuttiGetUniqueId(&ids[i]) != tuttiSuccess) return tuttiGetLastError(nullptr);
                tuttiCommInitRankConfig(&comms[i], 2, ids[i], 0, &config);
              }
              tuttiBarrier(nullptr, nullptr);
              const auto began = Clock::now();
              if (tuttiGroupEnd() != tuttiInvalidArgument) return "the group was made";
              return Clock::now() - began < 1500ms ? "" : "it waited for each";
            }),
            "");
}

void limitFiles(rlim_t most) {
  const rlimit limit{most, most};
  setrlimit(RLIMIT_NOFILE, &limit);
}

int openFiles() {
  int open = 0;
  for (int number = 0; number < 1024; ++number) open += fcntl(number, F_GETFD) >= 0 ? 1 : 0;
  return open;
}

TEST(Joining, IdsThatNobodyUsesLeaveTheProgramItsDescriptors) {
  EXPECT_EQ(inAChild([]() -> std::string {
              limitFiles(200);
              tuttiUniqueId id{}, last{};
              int made = 0;
              while (made < 1000 && tuttiGetUniqueId(&id) == tuttiSuccess) {
                last = id;
                ++made;
              }
              const std::string text = tuttiGetLastError(nullptr);
              if (made < 10 || made > 20) return std::to_string(made) + " ids: " + text;
              if (!has(text, "unique ids of this process wait for their ranks")) return text;
              if (!has(text, "ulimit -n")) return text;
              if (openFiles() > 130) return std::to_string(openFiles()) + " open files";
              tuttiComm_t comm = nullptr;
              if (tuttiCommInitRank(&comm, 1, last, 0) != tuttiSuccess) return tuttiGetLastError(nullptr);
              tuttiCommDestroy(comm);
              return tuttiGetUniqueId(&id) == tuttiSuccess ? "" : tuttiGetLastError(nullptr);
            }),
            "");
}

// Twenty, of which the child has one already.
TEST(Joining, ThreadsThatMakeIdsAtOnceKeepToTheLimit) {
  EXPECT_EQ(inAChild([]() -> std::string {
              limitFiles(200);
              int made = 0;
              for (const int own : onRanks(8, [](int) {
                     int count = 0;
                     tuttiUniqueId id;
                     while (tuttiGetUniqueId(&id) == tuttiSuccess) ++count;
                     return count;
                   }))
                made += own;
              return made == 19 ? "" : std::to_string(made) + " ids";
            }),
            "");
}

TEST(Joining, IdsHaveALimitOfTheirOwn) {
  constexpr rlim_t kFiles = 10 * 1024;  // with which it comes first
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max < kFiles) GTEST_SKIP() << "the limit on open files comes first";
  EXPECT_EQ(inAChild([]() -> std::string {
              limitFiles(kFiles);
              tuttiUniqueId id;
              while (tuttiGetUniqueId(&id) == tuttiSuccess) {
              }
              const std::string text = tuttiGetLastError(nullptr);
              return has(text, "1024 unique ids of this process") && !has(text, "open files") ? "" : text;
            }),
            "");
}

// They are kept for ranks that come late, but not when an id needs the place.
TEST(Joining, InitsThatFailNeverUseUpTheDescriptors) {
  EXPECT_EQ(inAChild([]() -> std::string {
              limitFiles(200);
              const tuttiConfig_t config = joiningWithin(1);
              for (int i = 0; i < 12; ++i) {
                tuttiUniqueId id;
                tuttiComm_t comm = nullptr;
                tuttiGroupStart();  // of two inits that fail, so that they wait together
                for (int j = 0; j < 2; ++j) {
                  if (tuttiGetUniqueId(&id) != tuttiSuccess) return tuttiGetLastError(nullptr);
                  tuttiCommInitRankConfig(&comm, 2, id, 0, &config);
                }
                tuttiBarrier(nullptr, nullptr);
                if (tuttiGroupEnd() == tuttiSuccess) return "a group was made";
                if (openFiles() > 130) return std::to_string(openFiles()) + " open files";
              }
              return "";
            }),
            "");
}

}  // namespace
}  // namespace tutti
