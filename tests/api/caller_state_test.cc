// What the calling thread has set does not change a result, and is found again afterwards: rounding mode,
// flush to zero, denormals are zero, unmasked exceptions, errno-like state of the error text. And a cancellation
// that is due waits.
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/ranks.h"
#include "tests/support/waiting.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace tutti {
namespace {

// Sums that need rounding and subnormal numbers, and an average of them.
std::vector<float> reduced(const Communicators& comms, bool group, tuttiRedOp_t operation) {
  constexpr std::size_t kCount = 4001;
  std::vector<std::vector<float>> buffers;
  for (int rank = 0; rank < comms.size(); ++rank) {
    auto& buffer = buffers.emplace_back(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::uint32_t bits =
          static_cast<std::uint32_t>(i * 2654435761u + static_cast<unsigned>(rank) * 97u) %
          (i % 2 == 0 ? 0x007fffffu : 0x3f800000u);
      std::memcpy(&buffer[i], &bits, sizeof(bits));
    }
  }
  if (group) tuttiGroupStart();
  const auto call = [&](int rank) {
    float* data = buffers[static_cast<std::size_t>(rank)].data();
    return tuttiAllReduce(data, data, kCount, tuttiFloat32, operation, comms[rank], nullptr);
  };
  for (int rank = 0; rank < comms.size(); ++rank) EXPECT_EQ(call(rank), tuttiSuccess);
  if (group) {
    EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess);
  }
  return buffers[0];
}

#if defined(__SSE2__)
constexpr unsigned kDefaultControl = 0x1f80;
constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040, kRoundUp = 0x4000, kRoundDown = 0x2000;
constexpr unsigned kUnderflowTraps = 0x0800, kInexactTraps = 0x1000;

struct Control {
  explicit Control(unsigned value) { _mm_setcsr(value); }
  ~Control() { _mm_setcsr(kDefaultControl); }
};

TEST(FloatingPointUnit, OfTheCallerChangesNothing) {
  for (const bool group : {false, true}) {
    for (const tuttiRedOp_t operation : {tuttiSum, tuttiAvg, tuttiProd}) {
      const Communicators comms(group ? 4 : 1);
      const std::vector<float> wanted = reduced(comms, group, operation);
      for (const unsigned state :
           {kDefaultControl | kFlushToZero, kDefaultControl | kDenormalsAreZero,
            kDefaultControl | kFlushToZero | kDenormalsAreZero, kDefaultControl | kRoundUp,
            kDefaultControl | kRoundDown, kDefaultControl | kRoundUp | kRoundDown | kFlushToZero}) {
        std::vector<float> got;
        unsigned after = 0;
        {
          const Control control(state);
          got = reduced(comms, group, operation);
          after = _mm_getcsr();
        }
        EXPECT_EQ(after & ~0x3fu, state) << "not given back";
        EXPECT_EQ(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(float)), 0) << std::hex << state;
      }
    }
  }
}

// The library's own arithmetic underflows and rounds; a caller that traps on it must not be struck.
TEST(FloatingPointUnit, TrapsOfTheCallerAreNotSprung) {
  const Communicators comms(2);
  const std::vector<float> wanted = reduced(comms, true, tuttiAvg);
  std::vector<float> got;
  {
    const Control control(kDefaultControl & ~(kUnderflowTraps | kInexactTraps));
    got = reduced(comms, true, tuttiAvg);
    EXPECT_EQ(_mm_getcsr() & ~0x3fu, kDefaultControl & ~(kUnderflowTraps | kInexactTraps));
  }
  EXPECT_EQ(got, wanted);
}
#endif

TEST(FloatingPointUnit, OneRankMayDiffer) {
  const Communicators comms(3);
  std::vector<std::vector<float>> buffers(3, std::vector<float>(1000));
  for (auto& buffer : buffers) {
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = 1.0f / static_cast<float>(3 * i + 1);
  }
  onRanks(3, [&](int rank) {
    if (rank == 1) std::fesetround(FE_UPWARD);
    float* data = buffers[static_cast<std::size_t>(rank)].data();
    EXPECT_EQ(tuttiAllReduce(data, data, 1000, tuttiFloat32, tuttiAvg, comms[rank], nullptr), tuttiSuccess);
    if (rank == 1) {
      EXPECT_EQ(std::fegetround(), FE_UPWARD);
    }
  });
  for (const auto& buffer : buffers) EXPECT_EQ(buffer, buffers[0]);
}

// A thread that is cancelled while it waits ends after the call, with its peers served.
TEST(Cancellation, WaitsForTheEndOfTheCall) {
  const Communicators comms(2);
  struct Waiter {
    tuttiComm_t comm;
    std::atomic<pid_t> thread{0};
    std::atomic<int> result{-1};
  } waiter{comms[0]};
  pthread_t thread;
  const auto wait = [](void* argument) -> void* {
    auto& mine = *static_cast<Waiter*>(argument);
    mine.thread = gettid();
    mine.result = tuttiBarrier(mine.comm, nullptr);
    for (;;) pthread_testcancel();
  };
  ASSERT_EQ(pthread_create(&thread, nullptr, wait, &waiter), 0);
  EXPECT_TRUE(comesTrue([&] { return isAsleep(waiter.thread); }));
  ASSERT_EQ(pthread_cancel(thread), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));  // it looks round, and would end
  EXPECT_EQ(waiter.result, -1);
  EXPECT_EQ(tuttiBarrier(comms[1], nullptr), tuttiSuccess);
  void* ending = nullptr;
  ASSERT_EQ(pthread_join(thread, &ending), 0);
  EXPECT_EQ(ending, PTHREAD_CANCELED);
  EXPECT_EQ(waiter.result, tuttiSuccess);
}

}  // namespace
}  // namespace tutti
