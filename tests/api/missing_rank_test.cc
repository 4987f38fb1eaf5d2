// A rank that does not come, has left, or gives up: the others get an error that names it, by their deadline
// at the latest and with the same first cause.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;

tuttiResult_t addOne(tuttiComm_t comm, std::size_t count = 1) {
  std::vector<float> values(count);
  return tuttiAllReduce(values.data(), values.data(), count, tuttiFloat32, tuttiSum, comm, nullptr);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

tuttiResult_t asyncErrorOf(tuttiComm_t comm) {
  tuttiResult_t async = tuttiInternalError;
  EXPECT_EQ(tuttiCommGetAsyncError(comm, &async), tuttiSuccess);
  return async;
}

class Missing : public testing::TestWithParam<int> {};

// True if it was seen; false if others were late as well, as on a busy machine.
bool isNamedAtTheDeadline(int nranks, std::size_t count, int timeoutMs) {
  const Communicators comms(nranks, configOf(timeoutMs));
  const int absent = nranks / 2;
  const auto results =
      onRanks(nranks, [&](int rank) { return rank == absent ? tuttiSuccess : addOne(comms[rank], count); });
  const std::string text = tuttiGetLastError(comms[absent]);
  if (!has(text, "Missing: rank " + std::to_string(absent) + ".")) return false;
  EXPECT_TRUE(has(text, "within " + std::to_string(timeoutMs) + " ms")) << text;
  EXPECT_TRUE(has(text, "all-reduce of " + std::to_string(count))) << text;
  for (int rank = 0; rank < nranks; ++rank) {
    if (rank != absent) {
      EXPECT_EQ(results[static_cast<std::size_t>(rank)], tuttiTimeout);
      EXPECT_EQ(addOne(comms[rank]), tuttiBroken);
    }
    EXPECT_EQ(asyncErrorOf(comms[rank]), tuttiTimeout);
    EXPECT_EQ(tuttiGetLastError(comms[rank]), text);
  }
  EXPECT_EQ(addOne(comms[absent]), tuttiTimeout);  // its first call meets the first cause
  EXPECT_EQ(addOne(comms[absent]), tuttiBroken);
  EXPECT_EQ(tuttiCommFinalize(comms[absent]), tuttiBroken);
  return true;
}

TEST_P(Missing, IsNamedAtTheDeadline) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{200'000}})
    EXPECT_TRUE(isNamedAtTheDeadline(GetParam(), count, 400) ||
                isNamedAtTheDeadline(GetParam(), count, 4'000) ||
                isNamedAtTheDeadline(GetParam(), count, 15'000));
}

TEST_P(Missing, SeveralAreAllNamed) {
  const int nranks = GetParam();
  if (nranks < 3) return;
  const Communicators comms(nranks, configOf(300));
  EXPECT_EQ(addOne(comms[0]), tuttiTimeout);
  const std::string text = tuttiGetLastError(comms[0]);
  EXPECT_TRUE(
      has(text, nranks == 3 ? "Missing: ranks 1, 2." : "Missing: ranks 1-" + std::to_string(nranks - 1)))
      << text;
}

// A slow rank is not a missing one.
TEST_P(Missing, ComingLateIsFine) {
  const int nranks = GetParam();
  const Communicators comms(nranks);
  const auto results = onRanks(nranks, [&](int rank) {
    if (rank == nranks - 1) std::this_thread::sleep_for(400ms);
    return addOne(comms[rank], 1000);
  });
  for (const tuttiResult_t result : results) EXPECT_EQ(result, tuttiSuccess);
  EXPECT_TRUE(works(comms));
}

TEST_P(Missing, DestroyedIsNamedAtOnce) {
  const int nranks = GetParam();
  Communicators comms(nranks);
  const int gone = nranks - 1;
  ASSERT_EQ(tuttiCommDestroy(comms.take(gone)), tuttiSuccess);
  const auto results =
      onRanks(nranks, [&](int rank) { return rank == gone ? tuttiRemoteError : addOne(comms[rank], 5000); });
  for (const tuttiResult_t result : results) EXPECT_EQ(result, tuttiRemoteError);
  const std::string text = tuttiGetLastError(comms[0]);
  EXPECT_TRUE(has(text, "rank " + std::to_string(gone) + ": finalized or destroyed")) << text;
  EXPECT_EQ(asyncErrorOf(comms[0]), tuttiRemoteError);
  EXPECT_EQ(addOne(comms[0]), tuttiBroken);
}

TEST_P(Missing, FinalizedIsNamedAtOnce) {
  const int nranks = GetParam();
  const Communicators comms(nranks);
  ASSERT_TRUE(works(comms));
  ASSERT_EQ(tuttiCommFinalize(comms[0]), tuttiSuccess);
  EXPECT_EQ(addOne(comms[0]), tuttiInvalidUsage);
  const auto results = onRanks(
      nranks, [&](int rank) { return rank == 0 ? tuttiRemoteError : tuttiBarrier(comms[rank], nullptr); });
  for (const tuttiResult_t result : results) EXPECT_EQ(result, tuttiRemoteError);
  const std::string text = tuttiGetLastError(comms[1]);
  EXPECT_TRUE(has(text, "rank 0: finalized or destroyed")) << text;
}

// A rank that has finished its part may go while the others are still in the call.
TEST_P(Missing, DestroyingAfterTheLastCallIsFine) {
  const int nranks = GetParam();
  for (int round = 0; round < 20; ++round) {
    Communicators comms(nranks);
    const auto results = onRanks(nranks, [&](int rank) {
      char buffer[100] = {};
      const tuttiResult_t result =
          round % 2 == 0 ? tuttiBcast(buffer, sizeof(buffer), tuttiInt8, round % nranks, comms[rank], nullptr)
                         : addOne(comms[rank], 30'000);
      return result != tuttiSuccess ? result : tuttiCommDestroy(comms[rank]);
    });
    for (int rank = 0; rank < nranks; ++rank) {
      comms.take(rank);
      EXPECT_EQ(results[static_cast<std::size_t>(rank)], tuttiSuccess);
    }
  }
}

TEST_P(Missing, AbortFromAnotherThread) {
  const int nranks = GetParam();
  for (const std::size_t count : {std::size_t{1}, std::size_t{100'000}}) {
    Communicators comms(nranks);
    const int aborted = nranks - 1;
    std::atomic<int> entered{0};
    // Rank 0 never comes, so the others wait.
    std::vector<tuttiResult_t> results(static_cast<std::size_t>(nranks), tuttiSuccess);
    std::vector<std::string> texts(static_cast<std::size_t>(nranks));
    std::vector<std::thread> threads;
    for (int rank = 1; rank < nranks; ++rank)
      threads.emplace_back([&, rank, comm = comms[rank]] {
        ++entered;
        results[static_cast<std::size_t>(rank)] = addOne(comm, count);
        texts[static_cast<std::size_t>(rank)] = tuttiGetLastError(nullptr);
      });
    while (entered != nranks - 1) std::this_thread::yield();
    // Until they are in their calls, also where a sanitizer fills their buffers slowly.
    std::this_thread::sleep_for(200ms);
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(tuttiCommAbort(comms.take(aborted)), tuttiSuccess);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 2s);
    for (std::thread& thread : threads) thread.join();
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
    const std::string name = "rank " + std::to_string(aborted) + " called tuttiCommAbort";
    for (int rank = 1; rank < nranks; ++rank) {
      EXPECT_EQ(results[static_cast<std::size_t>(rank)], rank == aborted ? tuttiBroken : tuttiRemoteError);
      EXPECT_TRUE(has(texts[static_cast<std::size_t>(rank)], name)) << texts[static_cast<std::size_t>(rank)];
    }
    EXPECT_EQ(asyncErrorOf(comms[0]), tuttiRemoteError);
    EXPECT_EQ(addOne(comms[0]), tuttiRemoteError);
    EXPECT_TRUE(has(tuttiGetLastError(comms[0]), name)) << tuttiGetLastError(comms[0]);
    EXPECT_EQ(addOne(comms[0]), tuttiBroken);
  }
}

TEST_P(Missing, AbortBeforeAnyCall) {
  const int nranks = GetParam();
  Communicators comms(nranks);
  const tuttiComm_t aborted = comms.take(0);
  EXPECT_EQ(tuttiCommAbort(aborted), tuttiSuccess);
  EXPECT_EQ(tuttiCommAbort(aborted), tuttiInvalidArgument);
  EXPECT_EQ(tuttiCommDestroy(aborted), tuttiInvalidArgument);
  EXPECT_EQ(addOne(aborted), tuttiInvalidArgument);
  EXPECT_EQ(addOne(comms[1]), tuttiRemoteError);
  EXPECT_EQ(tuttiCommFinalize(comms[1]), tuttiBroken);
  EXPECT_EQ(tuttiCommDestroy(comms.take(1)), tuttiSuccess);
}

INSTANTIATE_TEST_SUITE_P(Ranks, Missing, testing::Values(2, 3, 5),
                         [](const auto& info) { return std::to_string(info.param) + "ranks"; });

// Windows are not touched any more once an aborted call has returned: the buffers are unmapped right away.
// More ranks than cores, so that some wait while others work.
TEST(AbortOfWindows, BuffersMayGoAtOnce) {
  constexpr int kRanks = 6;
  constexpr std::size_t kBytes = 4 << 20;
  for (int round = 0; round < 20; ++round) {
    Communicators comms(kRanks);
    std::vector<void*> memory(kRanks);
    std::vector<tuttiComm_t> handles;
    for (int rank = 0; rank < kRanks; ++rank) {
      void* handle = nullptr;
      void*& mine = memory[static_cast<std::size_t>(rank)];
      ASSERT_EQ(tuttiMemAlloc(&mine, kBytes, TUTTI_DEVICE_HOST), tuttiSuccess);
      ASSERT_EQ(tuttiCommRegister(comms[rank], mine, kBytes, &handle), tuttiSuccess);
      handles.push_back(rank == 0 ? comms.take(0) : comms[rank]);
    }
    std::thread aborter([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2 + round));
      tuttiCommAbort(handles[0]);
    });
    onRanks(kRanks, [&](int rank) {
      const auto mine = static_cast<std::size_t>(rank);
      tuttiResult_t result = tuttiSuccess;
      while (result == tuttiSuccess)
        result = tuttiAllReduce(memory[mine], memory[mine], kBytes / 4, tuttiFloat32, tuttiSum, handles[mine],
                                nullptr);
      // The aborted handle is none any more once its thread is outside of a call.
      const bool isOwn = result == tuttiBroken || result == tuttiInvalidArgument;
      EXPECT_TRUE(rank == 0 ? isOwn : result == tuttiRemoteError) << tuttiGetLastError(nullptr);
      EXPECT_EQ(tuttiMemFree(memory[mine]), tuttiSuccess);
    });
    aborter.join();
  }
}

}  // namespace
}  // namespace tutti
