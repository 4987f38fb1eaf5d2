// Ranks that make different calls: every one of them gets tuttiMismatch with the same text, which has both
// calls and all ranks, however different the protocols are that the calls would have run.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <latch>
#include <string>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

constexpr int kMostRanks = 5;

struct Outcome {
  tuttiResult_t result = tuttiSuccess;
  std::string text;      // the communicator's
  std::string callText;  // the thread's
  tuttiResult_t async = tuttiSuccess;
  tuttiResult_t later = tuttiSuccess;
};

using Call = std::function<tuttiResult_t(tuttiComm_t)>;

Outcome outcomeOf(tuttiComm_t comm, const Call& call) {
  Outcome outcome;
  outcome.result = call(comm);
  outcome.callText = tuttiGetLastError(nullptr);
  outcome.text = tuttiGetLastError(comm);
  tuttiCommGetAsyncError(comm, &outcome.async);
  outcome.later = tuttiBarrier(comm, nullptr);
  return outcome;
}

// Of each rank, large enough for every call below, and there before the ranks meet: one that was late would not be in
// the text.
struct Buffers {
  static constexpr std::size_t kBytes = std::size_t{17} << 20;

  explicit Buffers(tuttiComm_t comm) {
    static char* const all = static_cast<char*>(std::calloc(2 * kMostRanks, kBytes));
    int rank = 0;
    tuttiCommUserRank(comm, &rank);
    send = all + 2 * static_cast<std::size_t>(rank) * kBytes;
    recv = send + kBytes;
  }

  char* send;
  char* recv;
};

Call allReduceOf(std::size_t count, tuttiDataType_t type, tuttiRedOp_t operation) {
  return [=](tuttiComm_t comm) {
    const Buffers mine(comm);
    return tuttiAllReduce(mine.send, mine.recv, count, type, operation, comm, nullptr);
  };
}
Call broadcastOf(std::size_t count, int root) {
  return [=](tuttiComm_t comm) {
    return tuttiBcast(Buffers(comm).send, count, tuttiFloat32, root, comm, nullptr);
  };
}
Call reduceOf(std::size_t count, int root) {
  return [=](tuttiComm_t comm) {
    const Buffers mine(comm);
    return tuttiReduce(mine.send, mine.recv, count, tuttiFloat32, tuttiSum, root, comm, nullptr);
  };
}
Call allGatherOf(std::size_t count) {
  return [=](tuttiComm_t comm) {
    const Buffers mine(comm);
    return tuttiAllGather(mine.send, mine.recv, count, tuttiFloat32, comm, nullptr);
  };
}
Call reduceScatterOf(std::size_t count) {
  return [=](tuttiComm_t comm) {
    const Buffers mine(comm);
    return tuttiReduceScatter(mine.send, mine.recv, count, tuttiFloat32, tuttiSum, comm, nullptr);
  };
}
tuttiResult_t barrier(tuttiComm_t comm) {
  return tuttiBarrier(comm, nullptr);
}

struct Pair {
  const char* name;
  Call first;   // of all ranks but the odd one
  Call second;  // of the odd one
  const char* firstText;
  const char* secondText;
};

std::vector<Pair> pairs() {
  const std::size_t large = 2 << 20;  // of 4 bytes: 8 MiB
  return {
      {"kind", allReduceOf(10, tuttiFloat32, tuttiSum), reduceOf(10, 0), "all-reduce of 10 f32, sum",
       "reduce of 10 f32, sum, root 0"},
      {"count", allReduceOf(10, tuttiFloat32, tuttiSum), allReduceOf(11, tuttiFloat32, tuttiSum), "10 f32",
       "11 f32"},
      {"largeCount", allReduceOf(large, tuttiFloat32, tuttiSum),
       allReduceOf(large + 1, tuttiFloat32, tuttiSum), "2097152 f32", "2097153 f32"},
      {"type", allReduceOf(10, tuttiFloat32, tuttiSum), allReduceOf(10, tuttiInt32, tuttiSum), "10 f32",
       "10 i32"},
      {"pains2", allReduceOf(1, tuttiFloat32, tuttiSum), allReduceOf(1, tuttiBfloat16, tuttiSum), "1 f32",
       "1 bf16"},
      {"operation", allReduceOf(10, tuttiFloat32, tuttiSum), allReduceOf(10, tuttiFloat32, tuttiMax),
       "10 f32, sum", "10 f32, max"},
      {"root", broadcastOf(1000, 0), broadcastOf(1000, 1), "root 0", "root 1"},
      {"reduceRoot", reduceOf(100'000, 0), reduceOf(100'000, 1), "root 0", "root 1"},
      {"noneAgainstSome", allReduceOf(0, tuttiFloat32, tuttiSum), allReduceOf(5, tuttiFloat32, tuttiSum),
       "of 0 f32", "of 5 f32"},
      {"smallAgainstLarge", allReduceOf(2, tuttiFloat32, tuttiSum),
       allReduceOf(large, tuttiFloat32, tuttiSum), "of 2 f32", "of 2097152 f32"},
      {"mediumAgainstLarge", allReduceOf(8000, tuttiFloat32, tuttiSum),
       allReduceOf(large, tuttiFloat32, tuttiSum), "of 8000 f32", "of 2097152 f32"},
      {"allReduceAgainstBarrier", allReduceOf(2, tuttiFloat32, tuttiSum), barrier, "all-reduce of 2 f32",
       "barrier"},
      {"barrierAgainstLarge", barrier, allReduceOf(large, tuttiFloat32, tuttiSum), "barrier",
       "all-reduce of 2097152 f32"},
      {"gatherAgainstScatter", allGatherOf(50'000), reduceScatterOf(50'000), "all-gather of 50000",
       "reduce-scatter of 50000"},
      {"gatherAgainstBroadcast", allGatherOf(100), broadcastOf(100, 0), "all-gather of 100",
       "broadcast of 100"},
  };
}

class Mismatch : public testing::TestWithParam<std::tuple<std::size_t, int>> {};

// The rank that differs is the last one, then the first one.
TEST_P(Mismatch, EveryRankGetsTheSameText) {
  const Pair pair = pairs()[std::get<0>(GetParam())];
  const int nranks = std::get<1>(GetParam());
  for (const int odd : {nranks - 1, 0}) {
    const Communicators comms(nranks);
    ASSERT_TRUE(works(comms));
    std::latch ready(nranks);
    const auto outcomes = onRanks(nranks, [&](int rank) {
      ready.arrive_and_wait();
      return outcomeOf(comms[rank], rank == odd ? pair.second : pair.first);
    });
    for (int rank = 0; rank < nranks; ++rank) {
      const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
      SCOPED_TRACE("rank " + std::to_string(rank) + " of " + std::to_string(nranks) + ", odd one " +
                   std::to_string(odd) + ": " + outcome.callText);
      // A rank whose part was over before the others met gets it from its next call.
      if (outcome.result == tuttiSuccess) {
        EXPECT_EQ(outcome.later, tuttiMismatch);
      } else {
        EXPECT_EQ(outcome.result, tuttiMismatch);
        EXPECT_EQ(outcome.later, tuttiBroken);
        EXPECT_NE(outcome.callText.find(outcome.text), std::string::npos);
        EXPECT_EQ(outcome.async, tuttiMismatch);
      }
      tuttiResult_t async = tuttiSuccess;
      EXPECT_EQ(tuttiCommGetAsyncError(comms[rank], &async), tuttiSuccess);
      EXPECT_EQ(async, tuttiMismatch);
      EXPECT_EQ(tuttiBarrier(comms[rank], nullptr), tuttiBroken);
      const std::string text = tuttiGetLastError(comms[rank]);
      EXPECT_EQ(text, tuttiGetLastError(comms[0]));
      EXPECT_NE(text.find(pair.firstText), std::string::npos) << text;
      EXPECT_NE(text.find(pair.secondText), std::string::npos) << text;
      EXPECT_EQ(text.find("not there yet"), std::string::npos) << text;
      EXPECT_EQ(text.find("did not complete within"), std::string::npos) << "only by the deadline: " << text;
    }
    const std::string text = tuttiGetLastError(comms[0]);
    const std::string others = nranks == 2   ? "rank " + std::to_string(1 - odd)
                               : nranks == 3 ? (odd == 0 ? "ranks 1, 2" : "ranks 0, 1")
                                             : "ranks " + std::to_string(odd == 0 ? 1 : 0) + "-" +
                                                   std::to_string(odd == 0 ? nranks - 1 : nranks - 2);
    EXPECT_NE(text.find(others + ": "), std::string::npos) << text;
    EXPECT_NE(text.find("rank " + std::to_string(odd) + ": "), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, Mismatch,
                         testing::Combine(testing::Range<std::size_t>(0, 15),
                                          testing::Values(2, 3, kMostRanks)),
                         [](const auto& info) {
                           return std::string(pairs()[std::get<0>(info.param)].name) + "_" +
                                  std::to_string(std::get<1>(info.param)) + "ranks";
                         });

TEST(MismatchTable, IsWhole) {
  EXPECT_EQ(pairs().size(), 15u);
}

// Registering is a collective too; small and large calls, with and without an exchange of windows.
TEST(MismatchOfRegistrations, IsCaughtByTheNextCall) {
  for (const std::size_t count : {std::size_t{2}, std::size_t{100'000}}) {
    const Communicators comms(3);
    std::vector<std::vector<float>> memory(3, std::vector<float>(count));
    void* handle = nullptr;
    ASSERT_EQ(tuttiCommRegister(comms[1], memory[1].data(), count * sizeof(float), &handle), tuttiSuccess);
    const auto results = onRanks(3, [&](int rank) {
      float* mine = memory[static_cast<std::size_t>(rank)].data();
      return tuttiAllReduce(mine, mine, count, tuttiFloat32, tuttiSum, comms[rank], nullptr);
    });
    for (const tuttiResult_t result : results) EXPECT_EQ(result, tuttiMismatch);
    const std::string text = tuttiGetLastError(comms[0]);
    EXPECT_NE(text.find("after 1 registration(s)"), std::string::npos) << text;
    EXPECT_NE(text.find("ranks 0, 2: "), std::string::npos) << text;
  }
}

// The root of a small broadcast has nothing to wait for, so it returns before anything is wrong.
TEST(MismatchAfterReturn, ReachesTheNextCallAndAsyncError) {
  const Communicators comms(3);
  char byte = 1;
  ASSERT_EQ(tuttiBcast(&byte, 1, tuttiInt8, 0, comms[0], nullptr), tuttiSuccess);
  tuttiResult_t async = tuttiInternalError;
  ASSERT_EQ(tuttiCommGetAsyncError(comms[0], &async), tuttiSuccess);
  EXPECT_EQ(async, tuttiSuccess);
  const auto results = onRanks(2, [&](int i) {
    char byte = 0;
    return i == 0 ? tuttiBcast(&byte, 1, tuttiInt8, 0, comms[1], nullptr) : tuttiBarrier(comms[2], nullptr);
  });
  EXPECT_EQ(results[1], tuttiMismatch);
  ASSERT_EQ(tuttiCommGetAsyncError(comms[0], &async), tuttiSuccess);
  EXPECT_EQ(async, tuttiMismatch);
  EXPECT_EQ(tuttiBarrier(comms[0], nullptr), tuttiMismatch);
  EXPECT_EQ(tuttiBarrier(comms[0], nullptr), tuttiBroken);
  const std::string text = tuttiGetLastError(comms[0]);
  EXPECT_EQ(text, tuttiGetLastError(comms[2]));
}

// Failed calls leave send buffers as they were.
TEST(MismatchOfLargeCalls, LeavesSendBuffersAlone) {
  const Communicators comms(2);
  std::vector<std::vector<int>> send(2, std::vector<int>(500'000, 7)), recv = send;
  onRanks(2, [&](int rank) {
    const auto mine = static_cast<std::size_t>(rank);
    tuttiAllReduce(send[mine].data(), recv[mine].data(), 500'000 - mine, tuttiInt32, tuttiSum, comms[rank],
                   nullptr);
  });
  for (const auto& buffer : send) EXPECT_EQ(buffer, std::vector<int>(500'000, 7));
}

// Each rank thinks that it is the root, and completes; there is no later call that could notice.
TEST(LastCall, IsComparedByFinalize) {
  Communicators comms(3);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(broadcastOf(4, rank)(comms[rank]), tuttiSuccess);
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(tuttiCommFinalize(comms[rank]), tuttiMismatch);
    const std::string text = tuttiGetLastError(nullptr);
    EXPECT_NE(text.find("rank 2: broadcast of 4 f32, root 2 (call 0)"), std::string::npos) << text;
    EXPECT_EQ(tuttiCommDestroy(comms.take(rank)), tuttiSuccess);
  }
}

TEST(LastCall, IsComparedByDestroy) {
  Communicators comms(3);
  for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(broadcastOf(4, rank)(comms[rank]), tuttiSuccess);
  for (int rank = 0; rank < 3; ++rank) {
    const tuttiComm_t comm = comms.take(rank);
    EXPECT_EQ(tuttiCommDestroy(comm), tuttiMismatch);
    EXPECT_EQ(tuttiCommDestroy(comm), tuttiInvalidArgument);
  }
}

}  // namespace
}  // namespace tutti
