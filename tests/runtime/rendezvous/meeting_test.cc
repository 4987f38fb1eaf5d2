// Who fits to whom, and what is said when somebody does not.
#include "runtime/rendezvous/meeting.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tutti {
namespace {

using namespace std::chrono_literals;

Meeting::Member member(int rank, int nranks) {
  return {rank, nranks, std::to_string(1000 + rank), 0, "bytes"};
}

TEST(Meeting, CompleteWhenAllHaveCome) {
  Meeting meeting;
  EXPECT_FALSE(meeting.isComplete());
  for (const int rank : {2, 0, 1}) {
    EXPECT_FALSE(meeting.isComplete());
    EXPECT_TRUE(meeting.admit(member(rank, 3)).isOk());
  }
  EXPECT_TRUE(meeting.isComplete());
  EXPECT_EQ(meeting.member(1).bytes, "bytes");
}

TEST(Meeting, DifferentNumbersOfRanks) {
  Meeting meeting;
  ASSERT_TRUE(meeting.admit(member(3, 4)).isOk());
  const Status status = meeting.admit(member(0, 5));
  EXPECT_EQ(status.code(), Code::invalidArgument);
  EXPECT_EQ(
      status.message(),
      "ranks of one communicator were given different numbers of ranks: rank 3 (pid 1003): 4; rank 0 (pid "
      "1000): 5. Pass the same nranks on every rank");
}

TEST(Meeting, TheSameRankTwice) {
  Meeting meeting;
  ASSERT_TRUE(meeting.admit(member(1, 4)).isOk());
  Meeting::Member again = member(1, 4);
  again.pid = "7";
  const Status status = meeting.admit(again);
  EXPECT_EQ(status.code(), Code::invalidArgument);
  EXPECT_EQ(status.message(),
            "rank 1 was taken twice, by pid 1001 and by pid 7. Give each rank a number of its own");
}

TEST(Meeting, ARankThatDoesNotExist) {
  const std::vector<std::pair<int, int>> wrong = {
      {4, 4}, {-1, 4}, {0, 0}, {0, -3}, {0, Meeting::kMostRanks + 1}};
  for (const auto& [rank, nranks] : wrong) {
    Meeting meeting;
    const Status status = meeting.admit(member(rank, nranks));
    EXPECT_EQ(status.code(), Code::invalidArgument) << rank << ' ' << nranks;
    EXPECT_EQ(meeting.nranks(), 0);
  }
  Meeting meeting;
  EXPECT_EQ(meeting.admit(member(4, 4)).message(),
            "rank 4 (pid 1004) does not exist: a communicator of 4 ranks has the ranks 0 to 3");
}

TEST(Meeting, WhoIsMissing) {
  Meeting meeting;
  for (const int rank : {0, 1, 2, 4, 6, 7}) ASSERT_TRUE(meeting.admit(member(rank, 8)).isOk());
  const Status status = meeting.late(120s, {});
  EXPECT_EQ(status.code(), Code::timeout);
  EXPECT_EQ(status.message().find("ranks 3, 5 of 8 have not come within 120 s. "), 0u) << status.message();
  ASSERT_TRUE(meeting.admit(member(3, 8)).isOk());
  EXPECT_EQ(meeting.late(250ms, {}).message().find("rank 5 of 8 has not come within 250 ms. "), 0u);
}

TEST(Meeting, WhoDoesNotAnswer) {
  Meeting meeting;
  for (const int rank : {0, 1}) ASSERT_TRUE(meeting.admit(member(rank, 2)).isOk());
  const Status status = meeting.late(1s, {1});
  EXPECT_EQ(status.code(), Code::timeout);
  EXPECT_NE(status.message().find("within 1 s: no answer from rank 1 (pid 1001)"), std::string::npos)
      << status.message();
}

TEST(Meeting, NobodyIsSilent) {
  Meeting meeting;
  for (const int rank : {0, 1}) ASSERT_TRUE(meeting.admit(member(rank, 2)).isOk());
  const Status status = meeting.late(1s, {});
  EXPECT_EQ(status.code(), Code::timeout);
  EXPECT_NE(status.message().find("within 1 s: the last answer came too late. "), std::string::npos)
      << status.message();
}

TEST(Meeting, DeathsAndOwnFailures) {
  Meeting meeting;
  ASSERT_TRUE(meeting.admit(member(2, 3)).isOk());
  EXPECT_EQ(meeting.ended(2).code(), Code::remoteError);
  EXPECT_EQ(meeting.ended(2).message().find("rank 2 (pid 1002) ended"), 0u);
  const Status failed = meeting.failed(2, Status(Code::systemError, "no memory: 5 bytes"));
  EXPECT_EQ(failed.code(), Code::systemError);
  EXPECT_EQ(failed.message(), "rank 2 (pid 1002): no memory: 5 bytes");
}

TEST(Meeting, KnowsWhenNobodyIsLeftWhoCouldCome) {
  Meeting meeting;
  EXPECT_FALSE(meeting.haveAllBeenSeen());
  for (const auto& [rank, nranks] : {std::pair(0, 3), {0, 3}, {3, 3}, {-1, 3}, {5, 2000}, {1, 3}}) {
    meeting.see(rank, nranks);
    EXPECT_FALSE(meeting.haveAllBeenSeen()) << rank << " of " << nranks;
  }
  meeting.see(2, 4);  // who is wrong makes no rank too few
  EXPECT_FALSE(meeting.haveAllBeenSeen());
  meeting.see(3, 4);
  EXPECT_TRUE(meeting.haveAllBeenSeen());
}

}  // namespace
}  // namespace tutti
