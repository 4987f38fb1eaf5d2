// Abstract unix sockets: what they are named, who is at the other end, and bytes with descriptors over them. All
// are non-blocking and close-on-exec; nothing here waits. An abstract name lives in the network namespace, not
// in a file system, and goes with its last socket.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace tutti {

// Who listens or who has connected, as the kernel tells; pid 0 when it lives in another pid namespace.
struct Peer {
  pid_t pid = 0;
  uid_t uid = 0;
};
Peer peerOf(int socket);

// `name` without the zero byte in front.
Result<FileDescriptor> listenAt(const std::string& name);

enum class Connecting { connected, busy, nobody, failed };  // busy: try again soon
struct Connected {
  Connecting outcome = Connecting::failed;
  FileDescriptor socket;
  const char* call = "";  // that failed
  int error = 0;
};
Connected connectTo(const std::string& name);

// The next waiting connection; none without one, and errno tells why.
FileDescriptor acceptFrom(int listener);

// What these functions open takes no descriptors from the other side until this is called, where the kernel can refuse
// them (Linux 6.16). Dropping one that came can take as long as its sender likes: a socket may linger in it.
void allowDescriptors(int socket);

enum class Moved {
  some,     // `bytes` of them, at least one
  blocked,  // poll the socket
  ended,    // the peer has closed or died
  dropped,  // by the kernel, which gives no reason: descriptors. EMFILE: the process has no room for more; else EACCES
  failed,
};
struct Transfer {
  Moved moved = Moved::failed;
  std::size_t bytes = 0;
  int error = 0;  // of those that are dropped or failed
};

// What is said of a send that failed with this, and whether the next one may go.
std::string whySendFailed(int error);
bool mayPass(int error);

// Descriptors travel with the first byte: none may be given again after that has gone.
Transfer sendPart(int socket, std::string_view bytes, const std::vector<FileDescriptor>& descriptors);

// Appends descriptors that came along to *arrived; null: none are wanted.
inline constexpr const char* kDropped =
    "the kernel has dropped some, although there is room for more. A security module (SELinux, AppArmor) may "
    "forbid "
    "to pass them: look into its log";  // EACCES
Transfer receivePart(int socket, std::span<char> room, std::vector<FileDescriptor>* arrived);

}  // namespace tutti
