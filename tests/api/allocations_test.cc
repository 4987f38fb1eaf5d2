// The library itself runs out of memory: nothing of the arena stays taken, and whoever waits for the rank is told.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "api/process.h"
#include "tests/support/communicators.h"
#include "tests/support/failing_new.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(Allocations, KeepNothingOfTheArenaWhateverFails) {
  Process& process = Process::get();
  const auto arena = process.arena();
  ASSERT_TRUE(arena.isOk()) << arena.status().message();
  int failures = 0;
  void* memory = nullptr;
  failEachAllocation(
      [&] {
        const auto allocated = process.allocate(5 << 20);
        if (allocated.isOk()) memory = allocated.value();
      },
      [&] {
        failures += memory == nullptr;
        EXPECT_TRUE(process.free(memory).isOk());
        memory = nullptr;
        EXPECT_EQ(arena.value()->used(), 0u);
      });
  EXPECT_GT(failures, 0);
}

// ---- A rank without memory on its way into a communicator of two

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

tuttiConfig_t patientConfig() {
  tuttiConfig_t config = configOf();
  config.initTimeoutMs = kPatientMs;
  return config;
}

// What the two have for one try.
struct Meeting {
  static constexpr int kIds = 2;
  tuttiUniqueId ids[kIds];
  tuttiUniqueId gathered{};  // of rank 0
  std::atomic<int> gathering{0};
  std::atomic<bool> isOver{false};  // for the rank without memory
};

// One rank: the communicators that it has made, or what it was told.
struct Rank {
  Meeting& meeting;
  int rank;
  std::string told{};
  tuttiComm_t comms[Meeting::kIds] = {};

  void use(tuttiResult_t joined) {
    if (joined != tuttiSuccess) told = tuttiGetLastError(nullptr);
    for (const tuttiComm_t comm : comms) {
      if (comm != nullptr && tuttiBarrier(comm, nullptr) != tuttiSuccess) told = tuttiGetLastError(comm);
      if (comm != nullptr) tuttiCommDestroy(comm);
    }
  }

  // Not for ever, because the other may not come.
  static tuttiResult_t gather(void* context, const void* mine, void* all, std::size_t bytes) {
    const Rank& self = *static_cast<Rank*>(context);
    Meeting& meeting = self.meeting;
    if (self.rank == 0) std::memcpy(&meeting.gathered, mine, bytes);
    ++meeting.gathering;
    while (meeting.gathering != 2 && !meeting.isOver) std::this_thread::yield();
    std::memcpy(all, &meeting.gathered, bytes);
    return meeting.gathering == 2 ? tuttiSuccess : tuttiRemoteError;
  }
};

tuttiResult_t joinById(Rank& self) {
  const tuttiConfig_t config = patientConfig();
  return tuttiCommInitRankConfig(&self.comms[0], 2, self.meeting.ids[0], self.rank, &config);
}

tuttiResult_t joinInAGroup(Rank& self) {
  const tuttiConfig_t config = patientConfig();
  const int fails = std::exchange(untilOneFails, 0);  // without a group there are no calls in it
  tuttiGroupStart();
  untilOneFails = fails;
  for (int i = 0; i < Meeting::kIds; ++i)
    tuttiCommInitRankConfig(&self.comms[i], 2, self.meeting.ids[i], self.rank, &config);
  return tuttiGroupEnd();
}

tuttiResult_t joinByAllGather(Rank& self) {
  const tuttiConfig_t config = patientConfig();
  return tuttiCommInitCallback(&self.comms[0], 2, self.rank, Rank::gather, &self, &config);
}

// Every allocation of the one fails in turn, and both are told so at once. How often it did not come to an all-gather.
int tellsItsPeer(int victim, tuttiResult_t (*join)(Rank&)) {
  int absences = 0;
  int failures = 0;
  int inARow = 0;  // without one: a rank makes fewer where its peer was quicker
  for (int nth = 1; inARow < 20; ++nth) {
    Meeting meeting;
    for (tuttiUniqueId& id : meeting.ids) EXPECT_EQ(tuttiGetUniqueId(&id), tuttiSuccess);
    Rank own{meeting, victim}, peer{meeting, 1 - victim};
    const auto began = Clock::now();
    std::thread others([&] { peer.use(join(peer)); });
    untilOneFails = nth;
    const tuttiResult_t joined = join(own);
    inARow = untilOneFails == 0 ? 0 : inARow + 1;
    untilOneFails = 0;
    meeting.isOver = true;
    own.use(joined);
    others.join();
    EXPECT_LT(Clock::now() - began, kPatientMs * 1ms / 2) << nth << ": " << peer.told;
    EXPECT_EQ(own.told.empty(), peer.told.empty()) << nth << ": " << own.told << " | " << peer.told;
    absences += meeting.gathering == 1;
    if (!own.told.empty() && meeting.gathering != 1) {
      ++failures;
      EXPECT_TRUE(has(own.told, "out of memory")) << nth << ": " << own.told;
      EXPECT_TRUE(has(peer.told, "out of memory") || has(peer.told, "rank 0 could not make an id"))
          << nth << ": " << peer.told;
    }
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(failures, 10);
  return absences;
}

TEST(WithoutMemory, ARankTellsItsPeer) {
  EXPECT_EQ(tellsItsPeer(1, joinById), 0);
}

TEST(WithoutMemory, AGroupTellsThePeersOfAllItsRanks) {
  EXPECT_EQ(tellsItsPeer(1, joinInAGroup), 0);
}

// Only what is gathered itself has to have room.
TEST(WithoutMemory, ARankComesToTheAllGather) {
  for (const int victim : {0, 1}) EXPECT_LE(tellsItsPeer(victim, joinByAllGather), 1) << victim;
}

}  // namespace
}  // namespace tutti
