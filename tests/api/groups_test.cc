// Groups: one thread drives several ranks and communicators, in any order, without deadlock; a refused call
// begins nothing; a failure stays with its communicator.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/ranks.h"
#include "tests/support/waiting.h"

namespace tutti {
namespace {

constexpr std::size_t kCount = 3000;

// One buffer for each rank, filled with the rank's number plus one.
std::vector<std::vector<int>> ones(int nranks, std::size_t count = kCount) {
  std::vector<std::vector<int>> buffers;
  for (int rank = 0; rank < nranks; ++rank) buffers.emplace_back(count, rank + 1);
  return buffers;
}

tuttiResult_t addInPlace(std::vector<int>& buffer, tuttiComm_t comm) {
  return tuttiAllReduce(buffer.data(), buffer.data(), buffer.size(), tuttiInt32, tuttiSum, comm, nullptr);
}

TEST(Group, OneThreadDrivesFourRanks) {
  const Communicators comms(4);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, kCount, std::size_t{300'000}}) {
    auto buffers = ones(4, count);
    ASSERT_EQ(tuttiGroupStart(), tuttiSuccess);
    for (int rank = 3; rank >= 0; --rank)
      EXPECT_EQ(addInPlace(buffers[static_cast<std::size_t>(rank)], comms[rank]), tuttiSuccess);
    ASSERT_EQ(tuttiGroupEnd(), tuttiSuccess) << tuttiGetLastError(nullptr);
    for (const auto& buffer : buffers) EXPECT_EQ(buffer, std::vector<int>(count, 10));
  }
}

// Two threads drive two ranks each.
TEST(Group, TwoThreadsOfTwoRanks) {
  const Communicators comms(4);
  auto buffers = ones(4);
  const auto results = onRanks(2, [&](int thread) {
    for (int round = 0; round < 100; ++round) {
      tuttiGroupStart();
      for (const int rank : {thread, thread + 2}) {
        auto& buffer = buffers[static_cast<std::size_t>(rank)];
        buffer.assign(kCount, rank + 1);
        addInPlace(buffer, comms[rank]);
      }
      const tuttiResult_t result = tuttiGroupEnd();
      if (result != tuttiSuccess) return result;
    }
    return tuttiResult_t{tuttiSuccess};
  });
  for (const tuttiResult_t result : results) EXPECT_EQ(result, tuttiSuccess);
  for (const auto& buffer : buffers) EXPECT_EQ(buffer, std::vector<int>(kCount, 10));
}

TEST(Group, SeveralCommunicatorsInDifferentOrders) {
  constexpr int kComms = 5;
  std::vector<Communicators> all;
  for (int i = 0; i < kComms; ++i) all.emplace_back(2);
  const auto results = onRanks(2, [&](int rank) {
    for (int round = 0; round < 50; ++round) {
      std::vector<std::vector<int>> buffers(kComms, std::vector<int>(kCount * 10, rank + 1));
      tuttiGroupStart();
      for (int i = 0; i < kComms; ++i) {
        const auto which = static_cast<std::size_t>(rank == 0 ? i : kComms - 1 - i);
        addInPlace(buffers[which], all[which][rank]);
      }
      if (tuttiGroupEnd() != tuttiSuccess) return std::string(tuttiGetLastError(nullptr));
      for (const auto& buffer : buffers) {
        if (buffer != std::vector<int>(kCount * 10, 3)) return std::string("wrong data");
      }
    }
    return std::string();
  });
  for (const std::string& result : results) EXPECT_EQ(result, "");
}

// Without a group this needs two threads for each rank: each thread has its communicator, in opposite orders.
TEST(Group, CommunicatorsInOppositeOrderOnTwoThreadsEach) {
  const Communicators first(2), second(2);
  std::atomic<int> wrong{0};
  const auto drive = [&wrong](tuttiComm_t comm, int rank) {
    for (int round = 0; round < 300; ++round) {
      std::vector<int> buffer(round % 3 == 0 ? 1 : kCount, rank + 1);
      if (addInPlace(buffer, comm) != tuttiSuccess || buffer != std::vector<int>(buffer.size(), 3)) ++wrong;
    }
  };
  std::thread a(drive, first[0], 0), b(drive, second[1], 1), c(drive, second[0], 0), d(drive, first[1], 1);
  for (std::thread* thread : {&a, &b, &c, &d}) thread->join();
  EXPECT_EQ(wrong, 0);
}

TEST(Group, SeveralCallsOnOneCommunicatorKeepTheirOrder) {
  const Communicators comms(3);
  std::vector<std::vector<int>> values = ones(3, 100);
  std::vector<std::vector<int>> gathered(3, std::vector<int>(300));
  tuttiGroupStart();
  for (int rank = 0; rank < 3; ++rank) {
    auto& mine = values[static_cast<std::size_t>(rank)];
    addInPlace(mine, comms[rank]);                                     // 6
    addInPlace(mine, comms[rank]);                                     // 18
    tuttiBcast(mine.data(), 50, tuttiInt32, 2, comms[rank], nullptr);  // still 18
    tuttiBarrier(comms[rank], nullptr);
    tuttiAllGather(mine.data(), gathered[static_cast<std::size_t>(rank)].data(), 100, tuttiInt32, comms[rank],
                   nullptr);
  }
  ASSERT_EQ(tuttiGroupEnd(), tuttiSuccess) << tuttiGetLastError(nullptr);
  for (const auto& all : gathered) EXPECT_EQ(all, std::vector<int>(300, 18));
}

TEST(Group, Nests) {
  const Communicators comms(2);
  auto buffers = ones(2);
  tuttiGroupStart();
  tuttiGroupStart();
  addInPlace(buffers[0], comms[0]);
  EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess);
  EXPECT_EQ(buffers[0], std::vector<int>(kCount, 1));  // nothing has begun
  tuttiGroupStart();
  addInPlace(buffers[1], comms[1]);
  EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess);
  EXPECT_EQ(buffers[1], std::vector<int>(kCount, 2));
  EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess);
  EXPECT_EQ(buffers[0], std::vector<int>(kCount, 3));
  EXPECT_EQ(buffers[1], std::vector<int>(kCount, 3));
  EXPECT_EQ(tuttiGroupEnd(), tuttiInvalidUsage);
}

TEST(Group, EmptyOnesAreFine) {
  EXPECT_EQ(tuttiGroupStart(), tuttiSuccess);
  EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess);
}

// A refused call, in an inner group or the outer one, begins nothing anywhere; a corrected group joins the
// peers that wait for it.
TEST(Group, RefusedCallBeginsNothingAndPeersGoOn) {
  const Communicators comms(3), others(2);
  auto buffers = ones(3), more = ones(2);
  std::thread peer([&] { EXPECT_EQ(addInPlace(buffers[2], comms[2]), tuttiSuccess); });
  for (const bool inner : {false, true}) {
    tuttiGroupStart();
    if (inner) tuttiGroupStart();
    EXPECT_EQ(addInPlace(buffers[0], comms[0]), tuttiSuccess);
    EXPECT_EQ(addInPlace(more[0], others[0]), tuttiSuccess);
    EXPECT_EQ(tuttiAllReduce(nullptr, buffers[1].data(), kCount, tuttiInt32, tuttiSum, comms[1], nullptr),
              tuttiInvalidArgument);
    EXPECT_EQ(tuttiBarrier(comms[1], reinterpret_cast<tuttiStream_t>(1)), tuttiNotSupported);
    EXPECT_EQ(addInPlace(more[1], others[1]), tuttiSuccess);
    if (inner) {
      EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess);
    }
    EXPECT_EQ(tuttiGroupEnd(), tuttiInvalidArgument);  // the first refusal
    const std::string text = tuttiGetLastError(nullptr);
    EXPECT_NE(text.find("nothing of the group was begun"), std::string::npos) << text;
    EXPECT_NE(text.find("tuttiAllReduce on rank 1 of 3 of communicator "), std::string::npos) << text;
    EXPECT_NE(text.find("send buffer is NULL"), std::string::npos) << text;
    EXPECT_EQ(buffers[0], std::vector<int>(kCount, 1));
    EXPECT_EQ(more[0], std::vector<int>(kCount, 1));
  }
  tuttiGroupStart();
  addInPlace(buffers[0], comms[0]);
  addInPlace(buffers[1], comms[1]);
  EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess) << tuttiGetLastError(nullptr);
  peer.join();
  for (const auto& buffer : buffers) EXPECT_EQ(buffer, std::vector<int>(kCount, 6));
  EXPECT_TRUE(works(others));
}

TEST(Group, RefusesAForcedAlgorithmThatCannotServe) {
  const Communicators comms(2, "allreduce=ring,broadcast=ring");
  auto buffers = ones(2);
  tuttiGroupStart();
  addInPlace(buffers[0], comms[0]);
  addInPlace(buffers[1], comms[1]);
  EXPECT_EQ(tuttiBcast(buffers[0].data(), 1, tuttiInt32, 0, comms[0], nullptr), tuttiInvalidArgument);
  EXPECT_EQ(tuttiGroupEnd(), tuttiInvalidArgument);
  EXPECT_EQ(buffers[0], std::vector<int>(kCount, 1));
  EXPECT_TRUE(works(comms));
}

// The communicator that fails takes no other along.
TEST(Group, MismatchStaysWithItsCommunicator) {
  const Communicators good(2), bad(2);
  auto buffers = ones(2), more = ones(2);
  tuttiGroupStart();
  for (int rank = 0; rank < 2; ++rank) {
    const auto mine = static_cast<std::size_t>(rank);
    if (rank == 0) {
      addInPlace(more[mine], bad[rank]);
    } else {
      tuttiBarrier(bad[rank], nullptr);
    }
    addInPlace(buffers[mine], good[rank]);
    addInPlace(more[mine], bad[rank]);  // never begun
  }
  EXPECT_EQ(tuttiGroupEnd(), tuttiMismatch);
  for (const auto& buffer : buffers) EXPECT_EQ(buffer, std::vector<int>(kCount, 3));
  for (int rank = 0; rank < 2; ++rank) {
    tuttiResult_t async = tuttiSuccess;
    tuttiCommGetAsyncError(bad[rank], &async);
    EXPECT_EQ(async, tuttiMismatch);
    EXPECT_EQ(tuttiBarrier(bad[rank], nullptr), tuttiBroken);
  }
  EXPECT_TRUE(works(good));
}

// One call on each of two communicators, the first of which cannot be used any more when the group ends. A
// peer waits in the other, which must run.
class GroupWithABrokenOne : public testing::Test {
 protected:
  ~GroupWithABrokenOne() override {
    if (peer_.joinable()) peer_.join();
  }

  void note() {
    peer_ = std::thread([this] { EXPECT_EQ(addInPlace(buffers_[1], good_[1]), tuttiSuccess); });
    tuttiGroupStart();
    EXPECT_EQ(addInPlace(more_, bad_[0]), tuttiSuccess);
    EXPECT_EQ(addInPlace(buffers_[0], good_[0]), tuttiSuccess);
    EXPECT_EQ(addInPlace(more_, bad_[0]), tuttiSuccess);
  }
  // Answers the text.
  std::string end(tuttiResult_t expected) {
    EXPECT_EQ(tuttiGroupEnd(), expected);
    const std::string text = tuttiGetLastError(nullptr);
    peer_.join();
    for (const auto& buffer : buffers_) EXPECT_EQ(buffer, std::vector<int>(kCount, 3));
    EXPECT_TRUE(works(good_));
    EXPECT_EQ(text.find("tuttiGroupEnd on rank 0 of 2 of communicator bad: "), 0u) << text;
    return text;
  }

  static tuttiConfig_t named(const char* name) {
    tuttiConfig_t config = configOf(10'000);
    config.name = name;
    return config;
  }

  const Communicators good_{2, named("good")};
  Communicators bad_{2, named("bad")};
  std::vector<std::vector<int>> buffers_ = ones(2);
  std::vector<int> more_ = std::vector<int>(10, 1);
  std::thread peer_;
};

TEST_F(GroupWithABrokenOne, BrokenBefore) {
  EXPECT_EQ(tuttiCommAbort(bad_.take(1)), tuttiSuccess);
  note();
  const std::string text = end(tuttiRemoteError);  // the first cause, as a single call would
  EXPECT_NE(text.find("rank 1 called tuttiCommAbort"), std::string::npos) << text;
  EXPECT_EQ(tuttiBarrier(bad_[0], nullptr), tuttiBroken);
}

TEST_F(GroupWithABrokenOne, BrokenAndSaidSoBefore) {
  EXPECT_EQ(tuttiCommAbort(bad_.take(1)), tuttiSuccess);
  EXPECT_EQ(tuttiBarrier(bad_[0], nullptr), tuttiRemoteError);
  note();
  end(tuttiBroken);
}

TEST_F(GroupWithABrokenOne, AbortedSinceTheNote) {
  note();
  std::thread([this] { EXPECT_EQ(tuttiCommAbort(bad_.take(0)), tuttiSuccess); }).join();
  const std::string text = end(tuttiBroken);
  EXPECT_NE(text.find("aborted or destroyed"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0 called tuttiCommAbort"), std::string::npos) << text;
}

TEST_F(GroupWithABrokenOne, DestroyedSinceTheNote) {
  note();
  std::thread([this] { EXPECT_EQ(tuttiCommDestroy(bad_.take(0)), tuttiSuccess); }).join();
  const std::string text = end(tuttiBroken);
  EXPECT_NE(text.find("was destroyed after"), std::string::npos) << text;
}

// A group that is refused as a whole does not use up the first cause of a broken communicator.
TEST_F(GroupWithABrokenOne, IsNotAskedByARefusedGroup) {
  const Communicators finalized(1, named("finalized"));
  EXPECT_EQ(tuttiCommFinalize(finalized[0]), tuttiSuccess);
  EXPECT_EQ(tuttiCommAbort(bad_.take(1)), tuttiSuccess);
  note();
  tuttiBarrier(finalized[0], nullptr);
  EXPECT_EQ(tuttiGroupEnd(), tuttiInvalidUsage);
  const std::string text = tuttiGetLastError(nullptr);
  EXPECT_NE(text.find("rank 0 of 1 of communicator finalized"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing of the group was begun"), std::string::npos) << text;
  EXPECT_EQ(buffers_[0], std::vector<int>(kCount, 1));
  EXPECT_EQ(addInPlace(buffers_[0], good_[0]), tuttiSuccess);
  EXPECT_EQ(tuttiBarrier(bad_[0], nullptr), tuttiRemoteError);
}

// What the calls of a group run on does not change under them.
TEST(Group, KeepsTheRegistrationsOfItsCalls) {
  const Communicators comms(2), others(2);
  auto buffers = ones(2, 50'000);
  void* handles[2] = {};
  void* other = nullptr;
  for (const int rank : {0, 1})
    ASSERT_EQ(tuttiCommRegister(comms[rank], buffers[static_cast<std::size_t>(rank)].data(), 200'000,
                                &handles[rank]),
              tuttiSuccess);
  ASSERT_EQ(tuttiCommRegister(others[0], buffers[0].data(), 1, &other), tuttiSuccess);
  tuttiGroupStart();
  for (const int rank : {0, 1}) addInPlace(buffers[static_cast<std::size_t>(rank)], comms[rank]);
  EXPECT_EQ(tuttiCommDeregister(others[0], other), tuttiSuccess);  // has no calls in it
  EXPECT_EQ(tuttiCommDeregister(comms[0], nullptr), tuttiSuccess);
  EXPECT_EQ(tuttiCommDeregister(comms[0], handles[0]), tuttiInvalidUsage);
  EXPECT_EQ(tuttiGroupEnd(), tuttiInvalidUsage);
  tuttiGroupStart();
  for (const int rank : {0, 1}) addInPlace(buffers[static_cast<std::size_t>(rank)], comms[rank]);
  EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess) << tuttiGetLastError(nullptr);
  EXPECT_EQ(lastPlanOf(comms[0]).protocol, std::string("window"));
  EXPECT_EQ(tuttiCommDeregister(comms[0], handles[0]), tuttiSuccess);
}

TEST(Group, MissingRankIsATimeout) {
  const Communicators comms(3, configOf(300));
  auto buffers = ones(3);
  tuttiGroupStart();
  addInPlace(buffers[0], comms[0]);
  addInPlace(buffers[2], comms[2]);
  EXPECT_EQ(tuttiGroupEnd(), tuttiTimeout);
  const std::string text = tuttiGetLastError(comms[1]);
  EXPECT_NE(text.find("Missing: rank 1."), std::string::npos) << text;
}

TEST(Group, AbortWhileAGroupRuns) {
  Communicators comms(3), others(2);
  auto buffers = ones(3), more = ones(2);
  std::atomic<pid_t> driving{0};
  const tuttiComm_t aborted = comms.take(1);
  std::thread driver([&] {
    tuttiGroupStart();
    addInPlace(buffers[0], comms[0]);
    addInPlace(buffers[1], aborted);
    addInPlace(more[0], others[0]);
    addInPlace(more[1], others[1]);
    driving = gettid();
    const tuttiResult_t result = tuttiGroupEnd();
    EXPECT_TRUE(result == tuttiRemoteError || result == tuttiBroken) << result;
  });
  EXPECT_TRUE(comesTrue([&] { return isAsleep(driving); }));
  EXPECT_EQ(tuttiCommAbort(aborted), tuttiSuccess);
  driver.join();
  EXPECT_TRUE(works(others));
  EXPECT_EQ(tuttiBarrier(comms[0], nullptr), tuttiBroken);
  EXPECT_EQ(tuttiBarrier(comms[2], nullptr), tuttiRemoteError);
}

TEST(OneCommunicator, TakesOneCallAtATime) {
  const Communicators comms(2);
  std::vector<int> buffer(10, 1), other(10, 1);
  std::atomic<pid_t> inside{0};
  std::thread waiting([&] {
    inside = gettid();
    EXPECT_EQ(addInPlace(buffer, comms[0]), tuttiSuccess);
  });
  EXPECT_TRUE(comesTrue([&] { return isAsleep(inside); }));
  tuttiPlan_t plan = TUTTI_PLAN_INIT;
  void* handle = nullptr;
  EXPECT_EQ(tuttiBarrier(comms[0], nullptr), tuttiInvalidUsage);
  EXPECT_EQ(tuttiCommLastPlan(comms[0], &plan), tuttiInvalidUsage);
  EXPECT_EQ(tuttiCommRegister(comms[0], other.data(), 4, &handle), tuttiInvalidUsage);
  EXPECT_EQ(tuttiCommFinalize(comms[0]), tuttiInvalidUsage);
  EXPECT_EQ(tuttiCommDestroy(comms[0]), tuttiInvalidUsage);
  tuttiGroupStart();
  EXPECT_EQ(addInPlace(other, comms[1]), tuttiSuccess);
  EXPECT_EQ(tuttiBarrier(comms[0], nullptr), tuttiSuccess);
  EXPECT_EQ(tuttiGroupEnd(), tuttiInvalidUsage);
  const std::string text = tuttiGetLastError(nullptr);
  EXPECT_EQ(text.find("tuttiGroupEnd on rank 0 of 2 of communicator "), 0u) << text;
  EXPECT_NE(text.find("another thread is inside a call"), std::string::npos) << text;
  EXPECT_EQ(other, std::vector<int>(10, 1));
  // Asking goes on all the while.
  int number = -1;
  EXPECT_EQ(tuttiCommUserRank(comms[0], &number), tuttiSuccess);
  tuttiResult_t async = tuttiInternalError;
  EXPECT_EQ(tuttiCommGetAsyncError(comms[0], &async), tuttiSuccess);
  EXPECT_EQ(async, tuttiSuccess);
  EXPECT_EQ(addInPlace(other, comms[1]), tuttiSuccess);
  waiting.join();
  EXPECT_EQ(buffer, std::vector<int>(10, 2));
}

TEST(ManyCommunicators, OnTheirOwnThreadsAtOnce) {
  constexpr int kComms = 3;
  std::vector<Communicators> all;
  for (int i = 0; i < kComms; ++i) all.emplace_back(2);
  const auto wrong = onRanks(2 * kComms, [&](int thread) {
    const Communicators& comms = all[static_cast<std::size_t>(thread / 2)];
    const int rank = thread % 2;
    int wrong = 0;
    for (int round = 0; round < 1000; ++round) {
      int values[40];
      for (int& value : values) value = round * (rank + 1) + thread / 2;
      const tuttiResult_t result =
          tuttiAllReduce(values, values, 40, tuttiInt32, tuttiSum, comms[rank], nullptr);
      wrong += result != tuttiSuccess || values[0] != round * 3 + thread / 2 * 2 || values[39] != values[0];
    }
    return wrong;
  });
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace tutti
