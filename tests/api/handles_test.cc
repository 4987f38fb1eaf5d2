// The life of handles: they may be destroyed by any thread, in any order, while others still try to use them;
// what is no handle any more answers so.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

TEST(Handles, AreNeverTheSameTwice) {
  std::set<tuttiComm_t> seen;
  for (int round = 0; round < 200; ++round) {
    const Communicators comms(3);
    for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(seen.insert(comms[rank]).second);
  }
}

TEST(Handles, AreOfTheirRank) {
  const Communicators comms(5);
  for (int rank = 0; rank < 5; ++rank) {
    int number = -1;
    EXPECT_EQ(tuttiCommUserRank(comms[rank], &number), tuttiSuccess);
    EXPECT_EQ(number, rank);
    EXPECT_EQ(tuttiCommCount(comms[rank], &number), tuttiSuccess);
    EXPECT_EQ(number, 5);
    EXPECT_EQ(tuttiCommDevice(comms[rank], &number), tuttiSuccess);
    EXPECT_EQ(number, TUTTI_DEVICE_HOST);
  }
}

TEST(Handles, MayBeDestroyedByAnotherThreadInAnyOrder) {
  for (const bool used : {false, true}) {
    Communicators comms(4);
    if (used) {
      EXPECT_TRUE(works(comms));
    }
    for (const int rank : {2, 0, 3, 1})
      std::thread([&] { EXPECT_EQ(tuttiCommDestroy(comms.take(rank)), tuttiSuccess); }).join();
  }
}

TEST(Handles, FinalizedOnesAnswerQuestionsAndAreDestroyed) {
  Communicators comms(2);
  EXPECT_TRUE(works(comms));
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(tuttiCommFinalize(comms[rank]), tuttiSuccess);
    int number = -1;
    EXPECT_EQ(tuttiCommUserRank(comms[rank], &number), tuttiSuccess);
    EXPECT_EQ(number, rank);
    EXPECT_EQ(tuttiBarrier(comms[rank], nullptr), tuttiInvalidUsage);
    EXPECT_STREQ(lastPlanOf(comms[rank]).collective, "allreduce");
    void* handle = nullptr;
    EXPECT_EQ(tuttiCommRegister(comms[rank], &number, 4, &handle), tuttiInvalidUsage);
    EXPECT_EQ(tuttiCommDestroy(comms.take(rank)), tuttiSuccess);
  }
}

// Threads ask, call and abort on handles that another thread destroys: any answer but a crash or a hang.
TEST(Handles, UsedWhileTheyAreDestroyed) {
  for (const bool abort : {false, true}) {
    for (int round = 0; round < 60; ++round) {
      Communicators comms(2);
      const tuttiComm_t handles[2] = {comms.take(0), comms.take(1)};
      std::atomic<bool> stop{false};
      std::atomic<int> ended{0};
      std::vector<std::thread> asking;
      for (int i = 0; i < 2; ++i)
        asking.emplace_back([&, i] {
          while (!stop) {
            int number = -1;
            const tuttiResult_t result = tuttiCommUserRank(handles[i], &number);
            EXPECT_TRUE(result == tuttiSuccess ? number == i : result == tuttiInvalidArgument);
            tuttiResult_t async = tuttiSuccess;
            tuttiCommGetAsyncError(handles[i], &async);
            tuttiGetLastError(handles[i]);
          }
        });
      const auto end = [&](int rank) {
        return abort ? tuttiCommAbort(handles[rank]) : tuttiCommDestroy(handles[rank]);
      };
      onRanks(3, [&](int thread) {
        if (thread == 2) {  // tries to end a rank that is in the middle of its calls
          for (int i = 0; i < 50; ++i) ended += end(1) == tuttiSuccess;
          return;
        }
        for (int call = 0; call < 20; ++call) tuttiBarrier(handles[thread], nullptr);
        tuttiResult_t result = tuttiInvalidUsage;
        while (result == tuttiInvalidUsage) result = end(thread);
        ended += result == tuttiSuccess;
      });
      stop = true;
      for (std::thread& thread : asking) thread.join();
      EXPECT_EQ(ended, 2);
      EXPECT_EQ(tuttiCommDestroy(handles[0]), tuttiInvalidArgument);
      EXPECT_EQ(tuttiCommDestroy(handles[1]), tuttiInvalidArgument);
    }
  }
}

TEST(Version, IsTheHeaders) {
  int version = 0;
  EXPECT_EQ(tuttiGetVersion(&version), tuttiSuccess);
  EXPECT_EQ(version, TUTTI_VERSION_CODE);
}

}  // namespace
}  // namespace tutti
