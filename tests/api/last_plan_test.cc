// How a call ran can be asked, and what a user forces is what runs: by name, by collective, from the
// environment; an algorithm that cannot serve a call refuses it on every rank and leaves the rest as it was.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/api/matrix.h"
#include "tests/support/communicators.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

tuttiResult_t callOf(Kind kind, tuttiComm_t comm) {
  int send[8] = {1, 1, 1, 1, 1, 1, 1, 1}, recv[8] = {};
  switch (kind) {
    case Kind::allReduce:
      return tuttiAllReduce(send, recv, 2, tuttiInt32, tuttiSum, comm, nullptr);
    case Kind::broadcast:
      return tuttiBroadcast(send, recv, 2, tuttiInt32, 0, comm, nullptr);
    case Kind::reduce:
      return tuttiReduce(send, recv, 2, tuttiInt32, tuttiSum, 0, comm, nullptr);
    case Kind::reduceScatter:
      return tuttiReduceScatter(send, recv, 1, tuttiInt32, tuttiSum, comm, nullptr);
    case Kind::allGather:
      return tuttiAllGather(send, recv, 1, tuttiInt32, comm, nullptr);
    case Kind::barrier:
      return tuttiBarrier(comm, nullptr);
  }
  return tuttiInternalError;
}

TEST(LastPlan, RefusalsLeaveItAlone) {
  const Communicators comms(2, "allreduce=ring,broadcast=ring");
  ASSERT_TRUE(works(comms));
  const tuttiPlan_t before = lastPlanOf(comms[0]);
  EXPECT_STREQ(before.collective, "allreduce");
  EXPECT_EQ(callOf(Kind::broadcast, comms[0]), tuttiInvalidArgument);
  int value = 0;
  EXPECT_EQ(tuttiAllReduce(&value, &value, 1, 99, tuttiSum, comms[0], nullptr), tuttiInvalidArgument);
  const tuttiPlan_t after = lastPlanOf(comms[0]);
  EXPECT_STREQ(after.collective, "allreduce");
  EXPECT_STREQ(after.algorithm, "ring");
  EXPECT_EQ(after.steps, before.steps);
}

TEST(LastPlan, OfAnOlderProgramIsWrittenAsFarAsItKnows) {
  const Communicators comms(1);
  ASSERT_TRUE(works(comms));
  tuttiPlan_t plan = TUTTI_PLAN_INIT;
  plan.size = offsetof(tuttiPlan_t, protocol);
  plan.protocol[0] = 'x';
  plan.windowBytes = 77;
  ASSERT_EQ(tuttiCommLastPlan(comms[0], &plan), tuttiSuccess);
  EXPECT_STREQ(plan.algorithm, "none");
  EXPECT_EQ(plan.size, offsetof(tuttiPlan_t, protocol));
  EXPECT_EQ(plan.protocol[0], 'x');
  EXPECT_EQ(plan.windowBytes, 77u);
}

// Every algorithm against every collective.
TEST(ForcedAlgorithm, ServesOrRefusesOnEveryRank) {
  for (const std::string& algorithm : algorithmNames()) {
    for (const Kind kind : kKinds) {
      SCOPED_TRACE(algorithm + " " + nameOf(kind));
      const Communicators comms(3, std::string(nameOf(kind)) + "=" + algorithm);
      ASSERT_EQ(comms.result(), tuttiSuccess);
      const bool served = serves(algorithm, kind) && algorithm != "twoshotwindow";
      const auto results = onRanks(3, [&](int rank) { return callOf(kind, comms[rank]); });
      for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(results[static_cast<std::size_t>(rank)], served ? tuttiSuccess : tuttiInvalidArgument);
        if (served) {
          EXPECT_EQ(lastPlanOf(comms[rank]).algorithm, algorithm);
        }
      }
      const Kind other = kind == Kind::barrier ? Kind::allReduce : Kind::barrier;
      for (const tuttiResult_t result : onRanks(3, [&](int rank) { return callOf(other, comms[rank]); }))
        EXPECT_EQ(result, tuttiSuccess);
    }
  }
}

// One rank learns of the refusal alone, and may try again when the others wait for another call.
TEST(ForcedAlgorithm, RefusalTellsNobody) {
  const Communicators comms(2, "broadcast=ring");
  EXPECT_EQ(callOf(Kind::broadcast, comms[0]), tuttiInvalidArgument);
  const std::string text = tuttiGetLastError(nullptr);
  EXPECT_NE(text.find("ring"), std::string::npos) << text;
  EXPECT_TRUE(works(comms));
}

TEST(ForcedAlgorithm, WindowWithoutRegistrationOnOneRank) {
  const Communicators comms(3, "twoshotwindow");
  std::vector<std::vector<int>> memory(3, std::vector<int>(1000, 1));
  void* handle = nullptr;
  for (int rank = 0; rank < 3; ++rank)
    ASSERT_EQ(tuttiCommRegister(comms[rank], memory[static_cast<std::size_t>(rank)].data(),
                                rank == 1 ? 8 : 4000, &handle),
              tuttiSuccess);
  const auto call = [&](std::size_t count) {
    return onRanks(3, [&, count](int rank) {
      int* data = memory[static_cast<std::size_t>(rank)].data();
      return tuttiAllReduce(data, data, count, tuttiInt32, tuttiSum, comms[rank], nullptr);
    });
  };
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const tuttiResult_t result : call(1000)) EXPECT_EQ(result, tuttiInvalidArgument);
    for (const auto& buffer : memory) EXPECT_EQ(buffer[500], 1);
  }
  for (const tuttiResult_t result : call(2)) EXPECT_EQ(result, tuttiSuccess);
  EXPECT_EQ(memory[2][1], 3);
  EXPECT_STREQ(lastPlanOf(comms[0]).protocol, "window");
}

TEST(ForcedAlgorithm, EnvironmentHasTheLastWord) {
  setenv("TUTTI_ALGO", "allreduce=doubletree", 1);
  {
    const Communicators comms(3, "allreduce=ring");
    EXPECT_TRUE(works(comms));
    EXPECT_STREQ(lastPlanOf(comms[2]).algorithm, "doubletree");
  }
  setenv("TUTTI_ALGO", "tree", 1);
  const Communicators none(3);
  EXPECT_EQ(none.result(), tuttiInvalidArgument);
  EXPECT_NE(std::string(tuttiGetLastError(nullptr)).find("TUTTI_ALGO"), std::string::npos);
  setenv("TUTTI_ALGO", "", 1);
  const Communicators comms(3);
  EXPECT_TRUE(works(comms));
  unsetenv("TUTTI_ALGO");
}

}  // namespace
}  // namespace tutti
