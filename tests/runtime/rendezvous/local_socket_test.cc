// What is said of descriptors that the kernel drops.
#include "runtime/rendezvous/local_socket.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

namespace {

bool dropsDescriptors = false;

}  // namespace

// In place of the C library's.
extern "C" ssize_t recvmsg(int socket, msghdr* message, int flags) {
  const ssize_t received = syscall(SYS_recvmsg, socket, message, flags);
  if (dropsDescriptors) message->msg_flags |= MSG_CTRUNC;
  return received;
}

namespace tutti {
namespace {

// Of one byte with a descriptor.
Transfer received() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const FileDescriptor sender(ends[0]), receiver(ends[1]);
  std::vector<FileDescriptor> gift;
  gift.push_back(FileDescriptor(dup(0)));
  EXPECT_EQ(sendPart(sender.get(), "x", gift).moved, Moved::some);
  gift.clear();
  const FileDescriptor filler(dropsDescriptors ? -1 : dup(0));
  char byte = 0;
  std::vector<FileDescriptor> arrived;
  rlimit whole{};
  getrlimit(RLIMIT_NOFILE, &whole);
  const rlimit few{dropsDescriptors ? whole.rlim_cur : static_cast<rlim_t>(filler.get() + 1), whole.rlim_max};
  setrlimit(RLIMIT_NOFILE, &few);
  const Transfer transfer = receivePart(receiver.get(), {&byte, 1}, &arrived);
  setrlimit(RLIMIT_NOFILE, &whole);
  return transfer;
}

TEST(Dropped, AFullTableIsNamed) {
  const Transfer transfer = received();
  EXPECT_EQ(transfer.moved, Moved::dropped);
  EXPECT_EQ(transfer.error, EMFILE);
}

TEST(Dropped, AnythingElseIsNotCalledAFullTable) {
  dropsDescriptors = true;
  const Transfer transfer = received();
  dropsDescriptors = false;
  EXPECT_EQ(transfer.moved, Moved::dropped);
  EXPECT_EQ(transfer.error, EACCES);
}

}  // namespace
}  // namespace tutti
