// Waiting ends: by the deadline, by the poison word, by a verdict; and progress starts the clock of a stall,
// but not of the deadline, anew.
#include "runtime/watch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/process_barrier.h"
#include "tests/runtime/local_ranks.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr WaitPolicy kShort{nullptr, 200ms};

CallDescriptor callOf(std::uint64_t count) {
  CallDescriptor call;
  call.count = count;
  return call;
}

Waiting turn(Watch& watch, const CallDescriptor& call, bool suspicious = false) {
  return watch.spins(suspicious) ? Waiting() : watch.idle(call, suspicious);
}
bool isBroken(const Waiting& waiting) {
  return waiting.by == Waiting::By::broken;
}

// One turn of a wait; false: it has ended.
bool waits(Watch& watch, const CallDescriptor& call, bool suspicious = false) {
  const Waiting waiting = turn(watch, call, suspicious);
  if (isBroken(waiting)) return false;
  Watch* const one = &watch;
  Watch::rest({&one, 1}, waiting);
  return true;
}

// How long a wait lasts.
Clock::duration waitedWith(Watch& watch, const CallDescriptor& call, bool suspicious = false) {
  const auto began = Clock::now();
  while (waits(watch, call, suspicious)) {
    if (Clock::now() - began > 30s) break;
  }
  return Clock::now() - began;
}

// Enough for all ranks, or not.
const Cores* coresOf(bool enough) {
  static CoreSet set;
  static const Cores all(set, 0), few(set, 1 << 20);
  return enough ? &all : &few;
}

class EitherWay : public testing::TestWithParam<bool> {};

TEST_P(EitherWay, TheDeadlineEndsAWait) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  Watch watch(rollCall, 0, {coresOf(GetParam()), 200ms});
  watch.begin();
  EXPECT_GE(waitedWith(watch, callOf(1)), 190ms);
  EXPECT_EQ(rollCall.cause().code(), Code::timeout);
}

TEST_P(EitherWay, ProgressDoesNotPutTheDeadlineOff) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  Watch watch(rollCall, 0, {coresOf(GetParam()), 200ms});
  watch.begin();
  const auto began = Clock::now();
  int turns = 0;
  while (waits(watch, callOf(1)) && Clock::now() - began < 30s) {
    if (++turns % 1000 == 0) watch.progressed();
  }
  EXPECT_GE(Clock::now() - began, 190ms);
  EXPECT_EQ(rollCall.cause().code(), Code::timeout);
}

TEST_P(EitherWay, EachCallHasItsOwnDeadline) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  Watch watch(rollCall, 0, {coresOf(GetParam()), 10'000ms});
  for (int call = 0; call < 3; ++call) {
    watch.begin();
    for (int i = 0; i < 2000; ++i) ASSERT_FALSE(isBroken(turn(watch, callOf(1))));
  }
  EXPECT_EQ(rollCall.poison(), 0u);
}

TEST_P(EitherWay, ThePoisonWordEndsAWait) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  Watch watch(rollCall, 0, {coresOf(GetParam()), 60'000ms});
  watch.begin();
  std::thread other([&] {
    std::this_thread::sleep_for(50ms);
    rollCall.breakWith(Status(Code::remoteError, "gone"));
  });
  EXPECT_LT(waitedWith(watch, callOf(1)), 20s);
  EXPECT_EQ(rollCall.cause().message(), "gone");
  other.join();
}

INSTANTIATE_TEST_SUITE_P(Spinning, EitherWay, testing::Bool(),
                         [](const auto& info) { return info.param ? "spins" : "yields"; });

TEST(Watch, AStallIsInvestigated) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  rollCall.board(1).announce(callOf(2));
  Watch watch(rollCall, 0, {nullptr, 60'000ms});
  watch.begin();
  const auto waited = waitedWith(watch, callOf(1));
  EXPECT_GE(waited, RollCall::kSuspicionAfter);
  EXPECT_LT(waited, 20s);
  EXPECT_EQ(rollCall.cause().code(), Code::mismatch);
}

TEST(Watch, ASuspicionIsInvestigatedAtOnce) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  rollCall.board(1).announce(callOf(2));
  Watch watch(rollCall, 0, {nullptr, 60'000ms});
  watch.begin();
  EXPECT_TRUE(isBroken(turn(watch, callOf(1), true)));
  EXPECT_EQ(rollCall.cause().code(), Code::mismatch);
}

TEST(Watch, ProgressPutsTheInvestigationOff) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  rollCall.board(1).announce(callOf(2));
  Watch watch(rollCall, 0, {nullptr, 60'000ms});
  watch.begin();
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_FALSE(isBroken(turn(watch, callOf(1))));
    watch.progressed();
  }
  EXPECT_EQ(rollCall.poison(), 0u);
}

// A long wait takes no core: it wakes up for what has to be looked after, and for nothing else.
TEST(Watch, ALongWaitSleeps) {
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  Watch watch(rollCall, 0, {nullptr, 1000ms});
  watch.begin();
  std::uint64_t turns = 0;
  while (turn(watch, callOf(1)).by != Waiting::By::sleeping) ++turns;
  turns = 0;
  while (waits(watch, callOf(1))) ++turns;
  EXPECT_EQ(rollCall.cause().code(), Code::timeout);
  // Ten looks, two turns of sleep for each, and the polls between.
  EXPECT_LT(turns, 40u * 128u);
}

// Otherwise its peers would ring for it at each of their messages.
TEST(Watch, WhoseWaitIsOverCountsAsNoSleeper) {
  if (!passProcessBarrier()) GTEST_SKIP() << "this system has no process barriers (membarrier)";
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  Watch watch(rollCall, 0, {nullptr, 60'000ms});
  const auto untilItIsGoingToSleep = [&] {
    watch.begin();
    while (!rollCall.bells().anybodySleeps()) ASSERT_TRUE(waits(watch, callOf(1)));
  };
  untilItIsGoingToSleep();
  watch.progressed();
  EXPECT_FALSE(rollCall.bells().anybodySleeps());
  untilItIsGoingToSleep();
  watch.end();
  EXPECT_FALSE(rollCall.bells().anybodySleeps());
}

// A thread that waits for two, which have stalled at different turns, sleeps as one that waits for one of them.
TEST(Watch, SeveralThatStallSleepTogether) {
  LocalRollCall first(2), second(2);
  for (LocalRollCall* rollCall : {&first, &second}) rollCall->board(0).announce(callOf(1));
  Watch one(first, 0, {coresOf(true), 60'000ms}), other(second, 0, {coresOf(true), 60'000ms});
  one.begin();
  other.begin();
  const auto began = Clock::now();
  Waiting both;
  for (int turns = 0; both.by != Waiting::By::sleeping; ++turns) {
    if (turns == 3) other.progressed();
    both = Waiting::leastOf(turn(one, callOf(1)), turn(other, callOf(1)));
    ASSERT_FALSE(isBroken(both));
    ASSERT_LT(Clock::now() - began, 20s);
  }
}

TEST(Watch, ABrokenCommunicatorWakesWhoSleeps) {
  if (!passProcessBarrier()) GTEST_SKIP() << "this system has no process barriers (membarrier)";
  LocalRollCall rollCall(2);
  rollCall.board(0).announce(callOf(1));
  Watch watch(rollCall, 0, {nullptr, 60'000ms});
  watch.begin();
  while (!rollCall.bells().anybodySleeps()) ASSERT_TRUE(waits(watch, callOf(1)));
  rollCall.breakWith(Status(Code::remoteError, "gone"));
  const auto began = Clock::now();
  Watch* const one = &watch;
  Watch::rest({&one, 1}, {.by = Waiting::By::sleeping, .atMost = 30s});
  EXPECT_LT(Clock::now() - began, 15s);
  EXPECT_FALSE(waits(watch, callOf(1)));
}

}  // namespace
}  // namespace tutti
