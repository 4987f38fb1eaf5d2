// How texts name another process: by the pid under which the reader finds it, which is not the one that the process
// has for itself when it lives in another pid namespace.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace tutti {

// "1234", "1234, 7 in its own pid namespace" or "7 of another pid namespace". `told`: the process's own word;
// `seen`: the kernel's, 0 for one that cannot be seen from here, none where the kernel does not say.
std::string processName(pid_t told, std::optional<pid_t> seen);

// The pid behind a pidfd, as /proc counts here; none without /proc, and for a process that has ended.
std::optional<pid_t> pidSeen(int pidfd);

}  // namespace tutti
