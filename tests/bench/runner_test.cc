// bench/common/runner: whatever the standard library throws, on a rank or outside, ends a program with a
// sentence.
#include "common/runner.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <new>
#include <stdexcept>
#include <string>

namespace tutti::bench {
namespace {

struct Done {
  int status;
  std::string complaints;
};

Done runWith(tuttiResult_t (*call)(const Call&)) {
  const Collective collective{Kind::allReduce, "all_reduce", "", "1", [](int) { return 1.0; }, call};
  char arguments[][24] = {"all_reduce_perf", "-t3", "-b8", "-e8", "-n1"};
  char* argv[] = {arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], nullptr};
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = runPerf(collective, 5, argv);
  testing::internal::GetCapturedStdout();
  return {status, testing::internal::GetCapturedStderr()};
}

tuttiResult_t sum(const Call& c) {
  return tuttiAllReduce(c.send, c.recv, c.count, c.type, c.op, c.comm, nullptr);
}

int rankOf(const Call& call) {
  int rank = -1;
  tuttiCommUserRank(call.comm, &rank);
  return rank;
}

TEST(Runner, RunsWhenNothingIsWrong) {
  const Done done = runWith(sum);
  EXPECT_EQ(done.status, 0);
  EXPECT_EQ(done.complaints, "");
}

TEST(Runner, NoMemoryOnARank) {
  const Done done = runWith([](const Call& call) {
    if (rankOf(call) == 1) throw std::bad_alloc();
    return sum(call);
  });
  EXPECT_EQ(done.status, 3);
  EXPECT_NE(done.complaints.find("rank 1: out of memory: use smaller sizes"), std::string::npos)
      << done.complaints;
}

TEST(Runner, AnyExceptionOnARank) {
  const Done done = runWith([](const Call& call) {
    if (rankOf(call) == 2) throw std::runtime_error("it did not work");
    return sum(call);
  });
  EXPECT_EQ(done.status, 3);
  EXPECT_NE(done.complaints.find("rank 2: it did not work"), std::string::npos) << done.complaints;
}

TEST(Runner, NoMemoryOutsideTheRanks) {
  const Collective collective{
      Kind::allReduce, "all_reduce", "", "1", [](int) -> double { throw std::bad_alloc(); }, sum};
  char arguments[][24] = {"all_reduce_perf", "-b8", "-n1"};
  char* argv[] = {arguments[0], arguments[1], arguments[2], nullptr};
  testing::internal::CaptureStderr();
  EXPECT_EQ(runPerf(collective, 3, argv), 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr().find("all_reduce_perf: out of memory: "), 0u);
}

// Stacks that no address space can hold.
TEST(Runner, NoThreads) {
  pthread_attr_t before, huge;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  pthread_attr_init(&huge);
  ASSERT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&huge), 0);
  const Done done = runWith(sum);
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&before);
  EXPECT_EQ(done.status, 3);
  EXPECT_EQ(done.complaints.find("all_reduce_perf: no thread for rank 0 of 3: "), 0u) << done.complaints;
}

}  // namespace
}  // namespace tutti::bench
