// A pair of sockets over which two processes of a test hand descriptors and single bytes to each other, with a
// deadline.
#pragma once

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/types.h>

#include <cerrno>
#include <cstring>

#include "base/file_descriptor.h"

namespace tutti {

class DescriptorPipe {
 public:
  DescriptorPipe() {
    int sockets[2] = {-1, -1};
    (void)!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets);
    const timeval deadline = {60, 0};
    for (int i = 0; i < 2; ++i) {
      ends_[i] = FileDescriptor(sockets[i]);
      setsockopt(sockets[i], SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof deadline);
    }
  }

  // `end`: 0 in one process, 1 in the other.
  bool send(int end, int descriptor) const {
    char byte = 0;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    iovec data = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    return sendmsg(ends_[end].get(), &message, MSG_NOSIGNAL) == 1;
  }

  FileDescriptor receive(int end) const {
    char byte = 0;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    iovec data = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (retried([&] { return recvmsg(ends_[end].get(), &message, MSG_CMSG_CLOEXEC); }) != 1)
      return FileDescriptor();
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    int descriptor = -1;
    if (header != nullptr) std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
    return FileDescriptor(descriptor);
  }

  // Both processes call it, and go on together.
  bool meet(int end) const {
    char byte = 0;
    return ::send(ends_[end].get(), &byte, 1, MSG_NOSIGNAL) == 1 &&
           retried([&] { return recv(ends_[end].get(), &byte, 1, 0); }) == 1;
  }

 private:
  // A socket with a deadline is interrupted by a stop of the process (signal(7)), with no handler in sight.
  template <class Call>
  static ssize_t retried(Call call) {
    for (;;) {
      const ssize_t result = call();
      if (result >= 0 || errno != EINTR) return result;
    }
  }

  FileDescriptor ends_[2];
};

}  // namespace tutti
