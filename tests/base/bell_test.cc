// A sleeper hears what was posted before or after it armed its bell, whoever posts, with process barriers and without;
// nobody is woken for nothing, and waking costs a poster nothing while nobody sleeps.
#include "base/bell.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "base/process_barrier.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Shared {
  SleeperCount sleepers;
  std::array<Bell, 3> bells;

  Bells with(bool barriers) { return Bells(sleepers, bells, barriers); }
};

bool sleepOn(Sleeper& sleeper, std::chrono::nanoseconds atMost) {
  Sleeper* one = &sleeper;
  return Sleeper::sleep({&one, 1}, atMost);
}

// As Watch does, for a word that a peer stores.
void waitFor(const std::atomic<std::uint64_t>& word, std::uint64_t value, Sleeper& sleeper, bool& late) {
  while (word.load(std::memory_order_acquire) != value) {
    if (!sleeper.isArmed()) {
      sleeper.arm();
      passProcessBarrier();
      continue;
    }
    const auto began = Clock::now();
    sleepOn(sleeper, 30s);
    late |= Clock::now() - began > 15s;
    sleeper.disarm();
  }
  sleeper.disarm();
}

class WithBarriers : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && !joinProcessBarriers())
      GTEST_SKIP() << "this system has no process barriers (membarrier)";
  }
};

// A wake-up that is lost shows as a wait of 30 s.
TEST_P(WithBarriers, NoWakeUpIsLost) {
  constexpr std::uint64_t kRounds = 20'000;
  Shared shared;
  const Bells bells = shared.with(GetParam());
  alignas(64) std::atomic<std::uint64_t> ping{0};
  alignas(64) std::atomic<std::uint64_t> pong{0};
  bool lateHere = false, lateThere = false;
  const auto post = [&bells](std::atomic<std::uint64_t>& word, std::uint64_t value, int peer) {
    word.store(value, std::memory_order_release);
    if (bells.anybodySleeps()) bells.ring(peer);
  };
  std::thread other([&] {
    Sleeper sleeper(bells, 1);
    for (std::uint64_t round = 1; round <= kRounds && !lateThere; ++round) {
      waitFor(ping, round, sleeper, lateThere);
      post(pong, round, 0);
    }
  });
  Sleeper sleeper(bells, 0);
  for (std::uint64_t round = 1; round <= kRounds && !lateHere; ++round) {
    post(ping, round, 1);
    waitFor(pong, round, sleeper, lateHere);
  }
  other.join();
  EXPECT_FALSE(lateHere || lateThere);
  EXPECT_FALSE(bells.anybodySleeps());
}

// The whole of the handshake: who posts and who arms at the same moment never both miss each other. A payload that the
// other core holds keeps the post back, as a message's does, while the look goes ahead.
TEST_P(WithBarriers, OneOfTheTwoSeesTheOther) {
  constexpr std::uint64_t kRounds = 30'000;
  Shared shared;
  const Bells bells = shared.with(GetParam());
  alignas(64) std::atomic<std::uint64_t> posted{0};
  alignas(64) std::atomic<std::uint64_t> arrivals{0};
  struct alignas(64) Line {
    std::atomic<std::uint64_t> word{0};
  };
  std::vector<Line> payload(16);
  const auto writePayload = [&payload](std::uint64_t value) {
    for (Line& line : payload) line.word.store(value, std::memory_order_relaxed);
  };
  const auto meet = [&arrivals](std::uint64_t meeting) {
    arrivals.fetch_add(1);
    for (int turn = 0; arrivals.load() < 2 * meeting; ++turn) {
      if (turn % 1024 == 1023) std::this_thread::yield();
    }
  };
  std::vector<char> found(kRounds), seen(kRounds);
  std::thread poster([&] {
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      meet(2 * round + 1);
      static_cast<void>(bells.anybodySleeps());
      writePayload(round);
      posted.store(round + 1, std::memory_order_release);
      found[round] = bells.anybodySleeps();
      meet(2 * round + 2);
    }
  });
  Sleeper sleeper(bells, 0);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    writePayload(round);
    meet(2 * round + 1);
    sleeper.arm();
    if (GetParam()) passProcessBarrier();
    seen[round] = posted.load(std::memory_order_acquire) == round + 1;
    meet(2 * round + 2);
    sleeper.disarm();
  }
  poster.join();
  for (std::uint64_t round = 0; round < kRounds; ++round) ASSERT_TRUE(found[round] || seen[round]) << round;
}

TEST_P(WithBarriers, OnlyWhoIsRungWakes) {
  Shared shared;
  const Bells bells = shared.with(GetParam());
  Sleeper first(bells, 0), second(bells, 1);
  EXPECT_FALSE(bells.anybodySleeps());
  first.arm();
  second.arm();
  EXPECT_TRUE(bells.anybodySleeps());
  bells.ring(1);
  const auto began = Clock::now();
  sleepOn(second, 30s);  // rung before it slept
  EXPECT_LT(Clock::now() - began, 15s);
  sleepOn(first, 20ms);
  EXPECT_GE(Clock::now() - began, 20ms);
  first.disarm();
  second.disarm();
  EXPECT_FALSE(bells.anybodySleeps());
}

TEST_P(WithBarriers, ARingForAllWakesAll) {
  Shared shared;
  const Bells bells = shared.with(GetParam());
  std::vector<std::thread> threads;
  std::atomic<int> awake{0};
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&bells, &awake, rank] {
      Sleeper sleeper(bells, rank);
      sleeper.arm();
      passProcessBarrier();
      const auto began = Clock::now();
      sleepOn(sleeper, 30s);
      if (Clock::now() - began < 15s) ++awake;
    });
  }
  while (shared.sleepers.count != 3) std::this_thread::yield();
  bells.ringAll();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(awake, 3);
}

INSTANTIATE_TEST_SUITE_P(Either, WithBarriers, testing::Bool(),
                         [](const auto& info) { return info.param ? "barriers" : "fences"; });

// One thread that waits for several communicators.
TEST(Sleeper, AnyOfSeveralBellsWakes) {
  Shared shared, other;
  const Bells bells = shared.with(false), others = other.with(false);
  Sleeper first(bells, 0), second(others, 2);
  const std::array<Sleeper*, 2> both = {&first, &second};
  for (Sleeper* sleeper : both) sleeper->arm();
  const auto began = Clock::now();
  std::thread ringer([&] {
    std::this_thread::sleep_for(20ms);
    others.ring(2);
  });
  const bool possible = Sleeper::sleep(both, 30s);
  const auto slept = Clock::now() - began;
  ringer.join();
  if (!possible) GTEST_SKIP() << "this system cannot sleep on several words (futex_waitv)";
  EXPECT_GE(slept, 20ms);
  EXPECT_LT(slept, 15s);
}

TEST(Sleeper, OneThatGoesIsNotCountedAnyMore) {
  Shared shared;
  const Bells bells = shared.with(false);
  {
    Sleeper sleeper(bells, 0);
    sleeper.arm();
    EXPECT_TRUE(bells.anybodySleeps());
  }
  EXPECT_FALSE(bells.anybodySleeps());
  EXPECT_FALSE(Bells().anybodySleeps());
}

}  // namespace
}  // namespace tutti
