// The system refuses messages that a rank or the host sends or receives: who could not is said, and why.
#include <sys/socket.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>

#include "runtime/rendezvous/rendezvous.h"
#include "tests/runtime/rendezvous/gathering.h"

namespace {

// Of this process, for messages with descriptors or room for them. So many times.
std::atomic<int> sendError{0};
std::atomic<int> receiveError{0};
std::atomic<int> times{0};

ssize_t refuse(int error) {
  errno = error;
  return -1;
}

}  // namespace

// In place of the C library's.
extern "C" ssize_t sendmsg(int socket, const msghdr* message, int flags) {
  if (sendError != 0 && message->msg_control != nullptr && times-- > 0) return refuse(sendError);
  return syscall(SYS_sendmsg, socket, message, flags);
}
extern "C" ssize_t recvmsg(int socket, msghdr* message, int flags) {
  if (receiveError != 0 && message->msg_control != nullptr && times-- > 0) return refuse(receiveError);
  return syscall(SYS_recvmsg, socket, message, flags);
}

namespace tutti {
namespace {

constexpr int kAlways = 1'000'000'000;

// The host is in the test's process; each rank is a child, and gives one descriptor.
class RefusedTransfer : public Gathering {
 protected:
  void TearDown() override {
    sendError = receiveError = 0;
    Gathering::TearDown();
  }

  std::vector<Child> ranks(const std::function<void(int)>& before = nullptr, milliseconds deadline = kLong) {
    std::vector<Child> children;
    for (int rank = 0; rank < 3; ++rank) {
      children.emplace_back([=, this] {
        sendError = receiveError = 0;
        if (before != nullptr) before(rank);
        return gather(id_, rank, 3, deadline, nullptr, [](int) { return 1u; });
      });
    }
    return children;
  }
};

void allSay(std::vector<Child>& children, const std::vector<std::string>& texts) {
  const auto began = Clock::now();
  for (Child& child : children) {
    const Status status = child.answer();
    EXPECT_EQ(status.code(), Code::systemError);
    for (const std::string& text : texts) EXPECT_TRUE(has(status, text)) << status.message();
  }
  EXPECT_LT(Clock::now() - began, kSoon);
}

std::string thisHost() {
  return "the process that made the unique id (pid " + std::to_string(getpid()) + ")";
}

TEST_F(RefusedTransfer, OfTheHostIsSaidAtOnce) {
  sendError = EPERM;
  times = kAlways;
  startHost();
  std::vector<Child> children = ranks();
  allSay(children, {thisHost() + " could not send to rank ", "Operation not permitted"});
}

TEST_F(RefusedTransfer, ThatMayPassIsSaidAtTheDeadline) {
  sendError = ETOOMANYREFS;
  times = kAlways;
  startHost();
  std::vector<Child> children = ranks(nullptr, 500ms);
  allSay(children, {thisHost() + " could not send to rank ", "too many descriptors of this user"});
}

TEST_F(RefusedTransfer, ThatPassesIsForgotten) {
  sendError = ETOOMANYREFS;
  times = 20;
  startHost();
  for (Child& child : ranks()) {
    const Status status = child.answer();
    EXPECT_TRUE(status.isOk()) << status.message();
  }
}

TEST_F(RefusedTransfer, OfARankIsToldToAll) {
  startHost();
  std::vector<Child> children = ranks([](int rank) {
    times = kAlways;
    if (rank == 1) sendError = EPERM;
  });
  allSay(children, {"sending to " + thisHost() + " failed: Operation not permitted"});
}

TEST_F(RefusedTransfer, OfWhatTheHostReceivesIsNoLackOfDescriptors) {
  receiveError = ENOBUFS;
  times = kAlways;
  startHost();
  std::vector<Child> children = ranks();
  allSay(children, {thisHost() + " could not receive from rank ", "No buffer space available. Free memory"});
}

}  // namespace
}  // namespace tutti
