// See refused.h.
#include "base/refused.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace tutti {

std::string remedyFor(std::string_view call, int error) {
  switch (error) {
    case EMFILE:
      return "Close files, or raise the limit on open files (ulimit -n)";
    case ENFILE:
      return "Raise the machine's limit on open files (sysctl fs.file-max)";
    case ENOMEM:
    case ENOBUFS:
      return "Free memory";
    case EAGAIN:
      return "End threads or processes, or raise the limit on them (ulimit -u)";
    case ENOSPC:
      return "Raise the user's limit (sysctl fs.epoll.max_user_watches)";
    case ENOSYS:
      return fmt::format("It takes Linux 5.3; or a seccomp filter of the container hides it: allow {} there",
                         call);
    default:
      return fmt::format("Allow {} to this process: a seccomp filter of the container may refuse it", call);
  }
}

Status refused(std::string_view what, std::string_view call, int error) {
  return Status(Code::systemError, fmt::format("{}: {} failed: {}. {}", what, call, std::strerror(error),
                                               remedyFor(call, error)));
}

}  // namespace tutti
