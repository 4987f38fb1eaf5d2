// The outcome of a meeting is decided once, whoever decides.
#include "runtime/rendezvous/outcome.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace tutti {
namespace {

TEST(Outcome, TheFirstDecides) {
  for (const Outcome first : {Outcome::met, Outcome::failed}) {
    const auto outcome = makeOutcome();
    ASSERT_TRUE(outcome.isOk()) << outcome.status().message();
    EXPECT_EQ(decide(outcome.value(), first), first);
    EXPECT_EQ(decide(outcome.value(), Outcome::met), first);
    EXPECT_EQ(decide(outcome.value(), Outcome::failed), first);
  }
}

TEST(Outcome, TwoAtOnceHearTheSame) {
  for (int turn = 0; turn < 500; ++turn) {
    const auto outcome = makeOutcome();
    ASSERT_TRUE(outcome.isOk());
    Outcome other = Outcome::met;
    std::thread second([&] { other = decide(outcome.value(), Outcome::failed); });
    const Outcome first = decide(outcome.value(), Outcome::met);
    second.join();
    ASSERT_EQ(first, other) << "turn " << turn;
  }
}

TEST(Outcome, OutlivesWhoDecided) {
  const auto outcome = makeOutcome();
  ASSERT_TRUE(outcome.isOk());
  const int copy = dup(outcome.value().get());
  const pid_t child = fork();
  if (child == 0) _exit(decide(FileDescriptor(copy), Outcome::met) == Outcome::met ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(copy);
  EXPECT_EQ(decide(outcome.value(), Outcome::failed), Outcome::met);
}

TEST(Outcome, OfSomethingElseIsNone) {
  EXPECT_EQ(decide(FileDescriptor(), Outcome::met), Outcome::failed);
  EXPECT_EQ(decide(FileDescriptor(dup(0)), Outcome::met), Outcome::failed);
}

}  // namespace
}  // namespace tutti
