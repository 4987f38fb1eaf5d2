// Memory that peers reach directly: tuttiMemAlloc gives it, tuttiCommRegister declares it, and calls whose
// buffers lie wholly in it on every rank run on windows; all others run through slots, with the same results.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

constexpr std::size_t kBytes = 1 << 20;
constexpr std::size_t kCount = kBytes / sizeof(int);

class Registered : public testing::Test {
 protected:
  void SetUp() override {
    for (void*& memory : memory_) ASSERT_EQ(tuttiMemAlloc(&memory, kBytes, TUTTI_DEVICE_HOST), tuttiSuccess);
  }
  void TearDown() override {
    for (void* memory : memory_) EXPECT_EQ(tuttiMemFree(memory), tuttiSuccess);
  }

  void registerOn(int rank, void* at, std::size_t bytes) {
    ASSERT_EQ(tuttiCommRegister(comms_[rank], at, bytes, &handles_[rank]), tuttiSuccess);
  }
  void registerAll() {
    for (int rank = 0; rank < kRanks; ++rank) registerOn(rank, memory_[rank], kBytes);
  }

  // An all-reduce on these elements of everybody's memory; the protocol, or what went wrong.
  std::string protocolOf(std::size_t first, std::size_t count) {
    for (int rank = 0; rank < kRanks; ++rank) {
      for (std::size_t i = 0; i < kCount; ++i) data(rank)[i] = rank + 1;
    }
    const auto results = onRanks(kRanks, [&](int rank) {
      return tuttiAllReduce(data(rank) + first, data(rank) + first, count, tuttiInt32, tuttiSum, comms_[rank],
                            nullptr);
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      if (results[static_cast<std::size_t>(rank)] != tuttiSuccess) return tuttiGetLastError(comms_[rank]);
      for (std::size_t i = 0; i < kCount; ++i) {
        const int wanted = i >= first && i < first + count ? 6 : rank + 1;
        if (data(rank)[i] != wanted) return "wrong element " + std::to_string(i);
      }
    }
    return lastPlanOf(comms_[1]).protocol;
  }

  int* data(int rank) { return static_cast<int*>(memory_[rank]); }

  static constexpr int kRanks = 3;
  Communicators comms_{kRanks};
  void* memory_[kRanks] = {};
  void* handles_[kRanks] = {};
};

TEST_F(Registered, AllocatedMemoryIsAlignedAndZero) {
  for (void* memory : memory_) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 4096, 0u);
    EXPECT_EQ(std::string(static_cast<char*>(memory), kBytes), std::string(kBytes, '\0'));
  }
  void* none = &none;
  EXPECT_EQ(tuttiMemAlloc(&none, 0, TUTTI_DEVICE_HOST), tuttiSuccess);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(tuttiMemFree(nullptr), tuttiSuccess);
}

TEST_F(Registered, OnEveryRankRunsOnWindows) {
  EXPECT_EQ(protocolOf(0, kCount), "slots");
  registerAll();
  EXPECT_EQ(protocolOf(0, kCount), "window");
  EXPECT_STREQ(lastPlanOf(comms_[0]).algorithm, "twoshotwindow");
  EXPECT_GT(lastPlanOf(comms_[0]).windowBytes, kBytes / 2);
  EXPECT_EQ(lastPlanOf(comms_[0]).inProcessBytes, 0u);
  EXPECT_EQ(protocolOf(1, kCount - 1), "window");
  EXPECT_EQ(protocolOf(3, 1001), "window");
  EXPECT_EQ(protocolOf(0, 1), "lines");  // small: not worth the exchange
}

TEST_F(Registered, ButNotWhollyRunsThroughSlots) {
  for (int rank = 0; rank < kRanks; ++rank) registerOn(rank, data(rank) + 1, kBytes - 8);
  EXPECT_EQ(protocolOf(0, 100'000), "slots");
  EXPECT_EQ(protocolOf(kCount - 100'000, 100'000), "slots");
  EXPECT_EQ(protocolOf(1, kCount - 2), "window");
}

TEST_F(Registered, OnSomeRanksRunsThroughSlots) {
  for (int rank = 0; rank < kRanks; ++rank) registerOn(rank, memory_[rank], rank == 1 ? 16 : kBytes);
  EXPECT_EQ(protocolOf(0, 100'000), "slots");
  for (int rank = 0; rank < kRanks; ++rank) registerOn(rank, memory_[rank], kBytes);
  EXPECT_EQ(protocolOf(0, 100'000), "window");
}

// Both buffers of a call count, each with its whole length.
TEST_F(Registered, OnOneSideOnlyRunsThroughSlots) {
  for (const bool sendOnly : {true, false}) {
    const Communicators comms(2);
    std::vector<std::vector<int>> send(2, std::vector<int>(5000, 1)), recv(2, std::vector<int>(10'000));
    void* handle = nullptr;
    for (int rank = 0; rank < 2; ++rank) {
      auto& registered =
          sendOnly ? send[static_cast<std::size_t>(rank)] : recv[static_cast<std::size_t>(rank)];
      ASSERT_EQ(tuttiCommRegister(comms[rank], registered.data(), registered.size() * sizeof(int), &handle),
                tuttiSuccess);
    }
    for (const bool both : {false, true}) {
      if (both) {
        for (int rank = 0; rank < 2; ++rank) {
          auto& other =
              sendOnly ? recv[static_cast<std::size_t>(rank)] : send[static_cast<std::size_t>(rank)];
          ASSERT_EQ(tuttiCommRegister(comms[rank], other.data(), other.size() * sizeof(int), &handle),
                    tuttiSuccess);
        }
      }
      tuttiGroupStart();
      for (int rank = 0; rank < 2; ++rank)
        tuttiAllGather(send[static_cast<std::size_t>(rank)].data(),
                       recv[static_cast<std::size_t>(rank)].data(), 5000, tuttiInt32, comms[rank], nullptr);
      ASSERT_EQ(tuttiGroupEnd(), tuttiSuccess) << tuttiGetLastError(nullptr);
      EXPECT_EQ(lastPlanOf(comms[0]).protocol, std::string(both ? "window" : "slots"));
      EXPECT_EQ(recv[1], std::vector<int>(10'000, 1));
    }
  }
}

TEST_F(Registered, DeregisteringIsLocal) {
  registerAll();
  EXPECT_EQ(protocolOf(0, 100'000), "window");
  EXPECT_EQ(tuttiCommDeregister(comms_[2], nullptr), tuttiSuccess);
  EXPECT_EQ(tuttiCommDeregister(comms_[2], handles_[2]), tuttiSuccess);
  EXPECT_EQ(protocolOf(0, 100'000), "slots");
  EXPECT_EQ(tuttiCommDeregister(comms_[2], handles_[2]), tuttiInvalidArgument);

  // Nor does the handle come to life again with a later registration.
  void* later = nullptr;
  ASSERT_EQ(tuttiCommRegister(comms_[2], memory_[2], kBytes, &later), tuttiSuccess);
  EXPECT_EQ(tuttiCommDeregister(comms_[2], handles_[2]), tuttiInvalidArgument);
  EXPECT_EQ(tuttiCommDeregister(comms_[2], later), tuttiSuccess);
}

TEST_F(Registered, WithSeveralCommunicators) {
  const Communicators others(kRanks);
  registerAll();
  void* handle = nullptr;
  for (int rank = 0; rank < kRanks; ++rank)
    ASSERT_EQ(tuttiCommRegister(others[rank], memory_[rank], kBytes, &handle), tuttiSuccess);
  EXPECT_EQ(protocolOf(0, 100'000), "window");
  EXPECT_TRUE(works(others));
}

// The small exchange before each call must not disturb calls that do without it.
TEST_F(Registered, MixedWithOtherCalls) {
  registerAll();
  const auto wrong = onRanks(kRanks, [&](int rank) {
    int wrong = 0;
    for (int round = 0; round < 300; ++round) {
      const std::size_t count = round % 3 == 0 ? 1 : round % 3 == 1 ? 300 : 5000;
      std::vector<int> outside(count, rank + 1);
      int* mine = data(rank);
      for (std::size_t i = 0; i < count; ++i) mine[i] = rank + 1;
      tuttiBarrier(comms_[rank], nullptr);
      wrong += tuttiAllReduce(mine, mine, count, tuttiInt32, tuttiSum, comms_[rank], nullptr) != tuttiSuccess;
      wrong += tuttiBcast(outside.data(), count, tuttiInt32, round % kRanks, comms_[rank], nullptr) !=
               tuttiSuccess;
      wrong += mine[count - 1] != 6 || outside[count - 1] != round % kRanks + 1;
    }
    return wrong;
  });
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace tutti
