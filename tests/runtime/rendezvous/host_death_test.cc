// The host dies or stands still in place of any of its messages, and is no rank: all ranks answer alike.
#include <sys/socket.h>
#include <sys/syscall.h>

#include "runtime/rendezvous/rendezvous.h"
#include "tests/runtime/rendezvous/gathering.h"

namespace {

// In the host's process: so many messages are sent, then comes the signal, once.
int sendsLeft = -1;
int signalAfterThem = 0;

}  // namespace

// In place of the C library's.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  if (sendsLeft >= 0 && sendsLeft-- == 0) kill(getpid(), signalAfterThem);
  return syscall(SYS_sendmsg, socket, message, flags);
}

namespace tutti {
namespace {

constexpr int kRanks = 3;

Child hostThatGets(int signal, int afterSends, const UniqueId& id) {
  Child child([&]() -> Status {
    sendsLeft = afterSends;
    signalAfterThem = signal;
    const auto host = RendezvousHost::start(id, kLong);
    TUTTI_TRY(statusOf(host));
    comesTrue([&] { return host.value()->isOver(); }, kLong);
    return Status();
  });
  EXPECT_TRUE(comesTrue([&id] { return socketListens(id.socketName()); }));
  return child;
}

// Little, so that no message goes in parts.
Status join(const UniqueId& id, int rank, milliseconds deadline) {
  Contribution mine{"few", {}};
  mine.descriptors.push_back(FileDescriptor(dup(0)));
  const auto take = [](int, const std::string&, const std::vector<FileDescriptor>&) { return Status(); };
  return joinRendezvous(id, rank, kRanks, std::move(mine), take, deadline);
}

// What all ranks answer, if they answer alike.
Status answerOfAll(const UniqueId& id, milliseconds deadline) {
  std::vector<Child> ranks;
  for (int rank = 0; rank < kRanks; ++rank)
    ranks.emplace_back([&, rank] { return join(id, rank, deadline); });
  const Status first = ranks[0].answer();
  for (int rank = 1; rank < kRanks; ++rank) {
    const Status other = ranks[static_cast<std::size_t>(rank)].answer();
    EXPECT_EQ(other.code(), first.code()) << first.message() << " | " << other.message();
  }
  return first;
}

// The last messages are those that tell the ranks that they have met.
TEST(HostDeath, BeforeAnyOfItsMessagesIsTheSameForAll) {
  int failed = 0;
  int met = 0;
  for (int sends = 0; met <= kRanks; ++sends) {
    const UniqueId id = UniqueId::make().value();
    const Child host = hostThatGets(SIGKILL, sends, id);
    const Status answer = answerOfAll(id, kLong);
    if (answer.isOk()) {
      ++met;
    } else {
      EXPECT_EQ(met, 0) << "after " << sends << " messages: " << answer.message();
      EXPECT_TRUE(has(answer, "has ended")) << answer.message();
      ++failed;
    }
    ASSERT_FALSE(HasFailure()) << "after " << sends << " messages";
  }
  EXPECT_EQ(failed, 4 * kRanks + kRanks * kRanks) << "challenge, welcome, outcome, give; contributions";
}

// Until the ranks' deadlines are over.
TEST(HostDeath, StandingStillIsTheSameForAll) {
  int met = 0;
  for (int sends = 4 * kRanks + 2; met <= kRanks; ++sends) {
    const UniqueId id = UniqueId::make().value();
    Child host = hostThatGets(SIGSTOP, sends, id);
    const Status answer = answerOfAll(id, 100ms);
    EXPECT_TRUE(answer.isOk() || answer.code() == Code::timeout) << answer.message();
    met += answer.isOk();
    host.signal(SIGCONT);
    EXPECT_TRUE(host.answer().isOk()) << "its thread ends";
    ASSERT_FALSE(HasFailure()) << "after " << sends << " messages";
  }
}

}  // namespace
}  // namespace tutti
