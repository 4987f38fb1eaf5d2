// See local_socket.h.
#include "runtime/rendezvous/local_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/refused.h"
#include "runtime/rendezvous/frames.h"

namespace tutti {
namespace {

struct Address {
  sockaddr_un name{};
  socklen_t bytes = 0;
};

Address addressOf(const std::string& name) {
  Address address;
  address.name.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof(address.name.sun_path) - 1);
  std::memcpy(address.name.sun_path + 1, name.data(), length);
  address.bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

// Whether the other side may send descriptors. Who connects to a listener meets a socket that has its setting.
void passRights(int socket, int yes) {
#ifndef SO_PASSRIGHTS
  constexpr int SO_PASSRIGHTS = 83;
#endif
  setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &yes, sizeof(yes));
}

FileDescriptor openSocket() {
  FileDescriptor opened(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (opened) passRights(opened.get(), 0);
  return opened;
}

// The largest number of descriptors that one message of Linux holds (SCM_MAX_FD).
constexpr std::size_t kMostAtOnce = 253;
union Control {
  char bytes[CMSG_SPACE(kMostAtOnce * sizeof(int))];
  cmsghdr aligned;
};
static_assert(kMostDescriptors <= kMostAtOnce);

Transfer failedOrBlocked() {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {Moved::blocked, 0, 0};
  if (errno == EPIPE || errno == ECONNRESET) return {Moved::ended, 0, 0};
  return {Moved::failed, 0, errno};
}

// Too many for the table, more than one message holds, or what a security module does not let through.
int whyDropped(int socket) {
  const FileDescriptor another(fcntl(socket, F_DUPFD_CLOEXEC, 0));
  return another ? EACCES : errno;
}

}  // namespace

Peer peerOf(int socket) {
  ucred credentials{};
  socklen_t bytes = sizeof(credentials);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) return {};
  return {credentials.pid, credentials.uid};
}

Result<FileDescriptor> listenAt(const std::string& name) {
  const auto failed = [&name](const char* call) {
    return refused(fmt::format("nowhere to meet at (the abstract unix socket @{})", name), call, errno);
  };
  FileDescriptor listener = openSocket();
  if (!listener) return failed("socket");
  const Address address = addressOf(name);
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes) != 0)
    return failed("bind");
  if (listen(listener.get(), SOMAXCONN) != 0) return failed("listen");
  return listener;
}

Connected connectTo(const std::string& name) {
  Connected connected;
  connected.socket = openSocket();
  if (!connected.socket) return {Connecting::failed, FileDescriptor(), "socket", errno};
  const Address address = addressOf(name);
  int answer = 0;
  do {
    answer = connect(connected.socket.get(), reinterpret_cast<const sockaddr*>(&address.name), address.bytes);
  } while (answer != 0 && errno == EINTR);
  if (answer == 0) {
    connected.outcome = Connecting::connected;
  } else {
    connected.call = "connect";
    connected.error = errno;
    connected.outcome = errno == EAGAIN         ? Connecting::busy  // the queue of the listener is full
                        : errno == ECONNREFUSED ? Connecting::nobody
                                                : Connecting::failed;
  }
  return connected;
}

FileDescriptor acceptFrom(int listener) {
  int socket = -1;
  do {
    socket = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  } while (socket < 0 && (errno == EINTR || errno == ECONNABORTED));
  return FileDescriptor(socket);
}

void allowDescriptors(int socket) {
  passRights(socket, 1);
}

bool mayPass(int error) {
  return error == ETOOMANYREFS || error == ENOBUFS || error == ENOMEM;
}

std::string whySendFailed(int error) {
  if (error == ETOOMANYREFS)
    return "too many descriptors of this user are under way. End the processes that do not take theirs, or "
           "raise "
           "the limit on open files (ulimit -n)";
  return fmt::format("{}. {}", std::strerror(error), remedyFor("sendmsg", error));
}

Transfer sendPart(int socket, std::string_view bytes, const std::vector<FileDescriptor>& descriptors) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control{};
  if (!descriptors.empty()) {
    const std::size_t size = std::min(descriptors.size(), kMostAtOnce) * sizeof(int);
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(size);
    for (std::size_t i = 0; i < size / sizeof(int); ++i) {
      const int number = descriptors[i].get();
      std::memcpy(CMSG_DATA(header) + i * sizeof(int), &number, sizeof(int));
    }
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return failedOrBlocked();
  return {Moved::some, static_cast<std::size_t>(sent), 0};
}

Transfer receivePart(int socket, std::span<char> room, std::vector<FileDescriptor>* arrived) {
  iovec part{room.data(), room.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Control control{};
  if (arrived != nullptr) {
    arrived->reserve(arrived->size() + kMostAtOnce);  // before they are there: nothing may fail then
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
  }
  ssize_t received = 0;
  do {
    received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0) return failedOrBlocked();
  if (arrived != nullptr) {
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (std::size_t i = 0; i < count; ++i) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
        arrived->push_back(FileDescriptor(number));
      }
    }
    if ((message.msg_flags & MSG_CTRUNC) != 0) return {Moved::dropped, 0, whyDropped(socket)};
  }
  if (received == 0) return {Moved::ended, 0, 0};
  return {Moved::some, static_cast<std::size_t>(received), 0};
}

}  // namespace tutti
