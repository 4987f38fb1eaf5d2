// Verdicts: what the boards say becomes one text, reached once, that names ranks in groups with their calls.
#include "runtime/roll_call.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/local_ranks.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;

CallDescriptor allReduceOf(std::uint64_t count, std::uint64_t sequence = 0) {
  CallDescriptor call;
  call.type = DataType::f32;
  call.count = count;
  call.sequence = sequence;
  return call;
}

CallDescriptor broadcastFrom(int root, std::uint64_t sequence) {
  CallDescriptor call;
  call.collective = Collective::broadcast;
  call.type = DataType::f32;
  call.count = 9;
  call.root = root;
  call.sequence = sequence;
  return call;
}

bool has(const RollCall& rollCall, const std::string& text) {
  return rollCall.cause().message().find(text) != std::string::npos;
}

TEST(RollCall, KeepsTheFirstCause) {
  LocalRollCall rollCall(2);
  EXPECT_EQ(rollCall.poison(), 0u);
  rollCall.breakWith(Status(Code::timeout, "first"));
  rollCall.breakWith(Status(Code::mismatch, "second"));
  EXPECT_NE(rollCall.poison(), 0u);
  EXPECT_EQ(rollCall.cause().code(), Code::timeout);
  EXPECT_EQ(rollCall.cause().message(), "first");
}

TEST(RollCall, KeepsOneCauseOfManyThreads) {
  for (int round = 0; round < 50; ++round) {
    LocalRollCall rollCall(4);
    std::vector<std::string> seen(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i)
      threads.emplace_back([&, i] {
        rollCall.breakWith(Status(Code::remoteError, "cause " + std::to_string(i)));
        seen[i] = rollCall.cause().message();
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& text : seen) EXPECT_EQ(text, seen[0]);
  }
}

TEST(RollCall, EqualCallsAreNoReason) {
  LocalRollCall rollCall(3);
  for (int rank = 0; rank < 3; ++rank) rollCall.board(rank).announce(allReduceOf(5));
  rollCall.investigate(0, allReduceOf(5), false, 10s);
  EXPECT_EQ(rollCall.poison(), 0u);
}

TEST(RollCall, MissingRanksAreWaitedFor) {
  LocalRollCall rollCall(3);
  rollCall.board(0).announce(allReduceOf(5));
  rollCall.investigate(0, allReduceOf(5), true, 10s);
  EXPECT_EQ(rollCall.poison(), 0u);
}

TEST(RollCall, DifferentCallsAreAMismatch) {
  LocalRollCall rollCall(8);
  for (int rank = 0; rank < 8; ++rank) rollCall.board(rank).announce(allReduceOf(rank == 3 ? 6 : 5));
  rollCall.investigate(1, allReduceOf(5), true, 0s);
  ASSERT_NE(rollCall.poison(), 0u);
  EXPECT_EQ(rollCall.cause().code(), Code::mismatch);
  EXPECT_TRUE(has(rollCall, "ranks 0-2, 4-7: all-reduce of 5 f32, sum (call 0)"))
      << rollCall.cause().message();
  EXPECT_TRUE(has(rollCall, "rank 3: all-reduce of 6 f32, sum (call 0)")) << rollCall.cause().message();
}

// As long as somebody has not come, others that differ wait a little for the text to be whole.
TEST(RollCall, AMismatchWaitsForTheOthersButNotForEver) {
  LocalRollCall rollCall(3);
  rollCall.board(0).announce(allReduceOf(5));
  rollCall.board(1).announce(allReduceOf(6));
  rollCall.investigate(0, allReduceOf(5), true, RollCall::kSuspicionAfter);
  EXPECT_EQ(rollCall.poison(), 0u);
  rollCall.investigate(0, allReduceOf(5), true, RollCall::kSuspicionAfter + RollCall::kGrace);
  EXPECT_EQ(rollCall.cause().code(), Code::mismatch);
  EXPECT_TRUE(has(rollCall, "rank 2: not there yet")) << rollCall.cause().message();
}

// Both roots of a broadcast complete; the difference shows in a later call.
TEST(RollCall, AnEarlierCallMayBeTheReason) {
  LocalRollCall rollCall(2);
  for (int rank = 0; rank < 2; ++rank) {
    rollCall.board(rank).announce(broadcastFrom(0, 0));
    rollCall.board(rank).announce(broadcastFrom(rank, 1));
    for (std::uint64_t number = 2; number < Board::kLines; ++number)
      rollCall.board(rank).announce(allReduceOf(5, number));
  }
  rollCall.investigate(0, allReduceOf(5, Board::kLines - 1), true, 0s);
  EXPECT_EQ(rollCall.cause().code(), Code::mismatch);
  EXPECT_TRUE(has(rollCall, "rank 0: broadcast of 9 f32, root 0 (call 1)")) << rollCall.cause().message();
  EXPECT_TRUE(has(rollCall, "rank 1: broadcast of 9 f32, root 1 (call 1)")) << rollCall.cause().message();
}

// What was compared once is not again; what could not be is.
TEST(RollCall, ADifferenceIsFoundAfterCallsThatWereCompared) {
  LocalRollCall rollCall(3);
  for (std::uint64_t number = 0; number < 3 * Board::kLines; ++number) {
    for (int rank = 0; rank < 3; ++rank) {
      rollCall.board(rank).announce(allReduceOf(5, number));
      if (number % 7 == 0) rollCall.investigate(rank, allReduceOf(5, number), true, 0s);
    }
  }
  std::uint64_t number = 3 * Board::kLines;
  for (const int rank : {0, 1}) rollCall.board(rank).announce(broadcastFrom(0, number));
  rollCall.investigate(0, broadcastFrom(0, number), true, 0s);
  for (const int rank : {0, 1}) rollCall.board(rank).announce(allReduceOf(5, number + 1));
  rollCall.investigate(0, allReduceOf(5, number + 1), true, 0s);
  EXPECT_EQ(rollCall.poison(), 0u);
  rollCall.board(2).announce(broadcastFrom(2, number));
  rollCall.board(2).announce(allReduceOf(5, number + 1));
  rollCall.investigate(0, allReduceOf(5, number + 1), true, 0s);
  ASSERT_EQ(rollCall.code(), Code::mismatch);
  EXPECT_TRUE(has(rollCall, "rank 2: broadcast of 9 f32, root 2 (call 192)")) << rollCall.cause().message();
}

// A rank that comes while the boards are read is seen in its second call and not in its first.
TEST(RollCall, ADifferenceIsFoundThoughARankComesDuringALook) {
  constexpr int kRanks = 64;
  constexpr int kLast = kRanks - 1;
  for (int round = 0; round < 2000; ++round) {
    LocalRollCall rollCall(kRanks);
    for (int rank = 0; rank < kLast; ++rank) {
      for (std::uint64_t number = 0; number < 2; ++number)
        rollCall.board(rank).announce(broadcastFrom(0, number));
      rollCall.board(rank).announce(allReduceOf(5, 2));
    }
    std::atomic<int> turns{0};  // of either
    std::thread comes([&] {
      turns = 1;
      while (turns != 2) std::this_thread::yield();
      for (std::atomic<int> pause{round % 100 * 4}; pause > 0;) --pause;
      rollCall.board(kLast).announce(broadcastFrom(kLast, 0));
      rollCall.board(kLast).announce(broadcastFrom(0, 1));
    });
    while (turns != 1) std::this_thread::yield();
    turns = 2;
    rollCall.investigate(0, allReduceOf(5, 2), false, 0s);
    comes.join();
    rollCall.investigate(0, allReduceOf(5, 2), false, 0s);
    ASSERT_EQ(rollCall.code(), Code::mismatch) << "round " << round;
  }
}

TEST(RollCall, ARankThatLeftIsARemoteError) {
  LocalRollCall rollCall(3);
  rollCall.board(0).announce(allReduceOf(5));
  rollCall.board(1).leave();
  rollCall.investigate(0, allReduceOf(5), false, 100ms);
  EXPECT_EQ(rollCall.cause().code(), Code::remoteError);
  EXPECT_TRUE(has(rollCall, "rank 1: finalized or destroyed")) << rollCall.cause().message();
}

TEST(RollCall, ARankThatLeftAfterTheCallIsFine) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(allReduceOf(5));
  rollCall.board(1).announce(allReduceOf(5));
  rollCall.board(1).leave();
  rollCall.investigate(0, allReduceOf(5), false, 10s);
  EXPECT_EQ(rollCall.poison(), 0u);
}

TEST(RollCall, AForeignMessageWithoutADifferenceIsOurFault) {
  LocalRollCall rollCall(2);
  for (int rank = 0; rank < 2; ++rank) rollCall.board(rank).announce(allReduceOf(5));
  rollCall.investigate(0, allReduceOf(5), true, 0s);
  EXPECT_EQ(rollCall.poison(), 0u);
  rollCall.investigate(0, allReduceOf(5), true, 2s);
  EXPECT_EQ(rollCall.cause().code(), Code::internalError);
}

TEST(RollCall, TheDeadlineNamesWhoIsMissing) {
  LocalRollCall rollCall(6);
  for (const int rank : {0, 3, 4}) rollCall.board(rank).announce(allReduceOf(5));
  rollCall.board(5).leave();
  rollCall.giveUp(3, allReduceOf(5), 250ms);
  EXPECT_EQ(rollCall.cause().code(), Code::timeout);
  EXPECT_TRUE(has(rollCall, "within 250 ms on rank 3")) << rollCall.cause().message();
  EXPECT_TRUE(has(rollCall, "Missing: ranks 1, 2, 5.")) << rollCall.cause().message();
  EXPECT_TRUE(has(rollCall, "ranks 0, 3, 4: all-reduce of 5 f32")) << rollCall.cause().message();
}

// Who waits for the missing rank in an earlier call is not missing.
TEST(RollCall, TheDeadlineTellsWhoIsInAnEarlierCall) {
  LocalRollCall rollCall(5);
  for (const int rank : {0, 1, 2, 4}) rollCall.board(rank).announce(allReduceOf(5, 0));
  for (const int rank : {0, 4}) rollCall.board(rank).finish();
  rollCall.board(0).announce(allReduceOf(6, 1));
  rollCall.giveUp(0, allReduceOf(6, 1), 250ms);
  EXPECT_EQ(rollCall.cause().code(), Code::timeout);
  EXPECT_TRUE(has(rollCall, "Missing: ranks 3, 4.")) << rollCall.cause().message();
  EXPECT_TRUE(has(rollCall, "ranks 1, 2: still in all-reduce of 5 f32, sum (call 0)"))
      << rollCall.cause().message();
}

TEST(RollCall, TheDeadlineWithAllInEarlierCalls) {
  LocalRollCall rollCall(2);
  for (int rank = 0; rank < 2; ++rank) rollCall.board(rank).announce(allReduceOf(5, 0));
  rollCall.board(0).finish();
  rollCall.board(0).announce(allReduceOf(6, 1));
  rollCall.giveUp(0, allReduceOf(6, 1), 250ms);
  EXPECT_TRUE(has(rollCall, "in this call or an earlier one")) << rollCall.cause().message();
  EXPECT_FALSE(has(rollCall, "Missing")) << rollCall.cause().message();
}

TEST(RollCall, TheLastCallIsCompared) {
  LocalRollCall equal(2);
  for (int rank = 0; rank < 2; ++rank) equal.board(rank).announce(broadcastFrom(1, 0));
  equal.compareLast(broadcastFrom(1, 0));
  EXPECT_EQ(equal.poison(), 0u);
  LocalRollCall alone(2);
  alone.board(0).announce(broadcastFrom(0, 0));
  alone.compareLast(broadcastFrom(0, 0));
  EXPECT_EQ(alone.poison(), 0u);
  LocalRollCall rollCall(2);
  for (int rank = 0; rank < 2; ++rank) rollCall.board(rank).announce(broadcastFrom(rank, 0));
  rollCall.compareLast(broadcastFrom(1, 0));
  EXPECT_EQ(rollCall.cause().code(), Code::mismatch);
  EXPECT_TRUE(has(rollCall, "rank 0: broadcast of 9 f32, root 0 (call 0)")) << rollCall.cause().message();
}

// However many ranks differ, the text stays one that can be read to its end.
TEST(RollCall, ManyDifferencesAreCounted) {
  LocalRollCall rollCall(1000);
  for (int rank = 0; rank < 1000; ++rank)
    rollCall.board(rank).announce(allReduceOf(static_cast<std::uint64_t>(rank) + 1));
  rollCall.investigate(0, allReduceOf(1), true, 0s);
  EXPECT_TRUE(has(rollCall, "rank 15: all-reduce of 16 f32")) << rollCall.cause().message();
  EXPECT_TRUE(has(rollCall, "984 more ranks: other calls. Make the calls equal"))
      << rollCall.cause().message();
  EXPECT_LT(rollCall.cause().message().size(), 2000u);
}

TEST(RollCall, TheDeadlineWithEverybodyThereSaysSo) {
  LocalRollCall rollCall(2);
  for (int rank = 0; rank < 2; ++rank) rollCall.board(rank).announce(allReduceOf(5));
  rollCall.giveUp(0, allReduceOf(5), 250ms);
  EXPECT_EQ(rollCall.cause().code(), Code::timeout);
  EXPECT_TRUE(has(rollCall, "All ranks made the call")) << rollCall.cause().message();
}

TEST(RollCall, TheDeadlineOfDifferentCallsIsAMismatch) {
  LocalRollCall rollCall(3);
  rollCall.board(0).announce(allReduceOf(5));
  rollCall.board(1).announce(allReduceOf(6));
  rollCall.giveUp(0, allReduceOf(5), 250ms);
  EXPECT_EQ(rollCall.cause().code(), Code::mismatch);
}

TEST(RollCall, RanksFarAheadAreNamed) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(allReduceOf(5));
  for (std::uint64_t number = 0; number <= Board::kLines; ++number)
    rollCall.board(1).announce(allReduceOf(5, number));
  rollCall.giveUp(0, allReduceOf(5), 250ms);
  EXPECT_TRUE(has(rollCall, "rank 1: many calls further on")) << rollCall.cause().message();
}

}  // namespace
}  // namespace tutti
