// See log.h.
#include "base/log.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <string_view>

namespace tutti {
namespace {

const char* nameOf(LogLevel level) {
  switch (level) {
    case LogLevel::none:
      break;
    case LogLevel::error:
      return "error";
    case LogLevel::warning:
      return "warning";
    case LogLevel::info:
      return "info";
    case LogLevel::debug:
      return "debug";
  }
  return "message";
}

// In one piece, so that the lines of several processes do not mix. Where nobody reads any more it is lost, and the
// signal of that with it: a message must not end the program.
void writeToStandardError(std::string_view line) {
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  sigpending(&pending);
  ssize_t written = 0;
  do {
    written = write(STDERR_FILENO, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written < 0 && errno == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    constexpr timespec kNow = {};
    sigtimedwait(&pipe, nullptr, &kNow);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void Log::write(LogLevel level, std::string text) const {
  if (!says(level)) return;
  std::replace(text.begin(), text.end(), '\n', ' ');  // names are the program's
  int cancels = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancels);
  if (callback_ != nullptr)
    callback_(context_, static_cast<int>(level), text.c_str());
  else
    writeToStandardError(fmt::format("tutti: {}: {}\n", nameOf(level), text));
  pthread_setcancelstate(cancels, nullptr);
}

}  // namespace tutti
