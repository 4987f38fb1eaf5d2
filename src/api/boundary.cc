// The texts, one set per thread. Plain arrays: they need no memory and no destructor, so that a call may fail
// at any time, also from the destructors that run when the process ends.
#include "api/boundary.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/communicator.h"

namespace tutti {
namespace {

struct Text {
  char data[4096];  // a longer one is cut

  template <class... Arguments>
  void write(fmt::format_string<Arguments...> format, Arguments&&... arguments) noexcept {
    try {
      const auto end =
          fmt::format_to_n(data, sizeof(data) - 1, format, std::forward<Arguments>(arguments)...);
      *end.out = '\0';
    } catch (...) {
      data[0] = '\0';
    }
  }
};

constinit thread_local Text lastError = {};
constinit thread_local Text keptText = {};

}  // namespace

tuttiResult_t fail(const char* function, Code code, std::string_view message) noexcept {
  lastError.write("{}: {}", function, message);
  return static_cast<tuttiResult_t>(code);
}

tuttiResult_t fail(const char* function, const Communicator& communicator, Code code,
                   std::string_view message) noexcept {
  lastError.write("{} on rank {} of {} of communicator {}: {}", function, communicator.rank(),
                  communicator.nranks(), communicator.label(), message);
  return static_cast<tuttiResult_t>(code);
}

tuttiResult_t failToEnter(const char* function, tuttiComm_t handle) noexcept {
  const PinnedCommunicator communicator(handle);
  if (!communicator) return fail(function, Code::invalidArgument, communicator.refusal());
  return fail(function, *communicator, Code::invalidUsage,
              "another thread is inside a call on this communicator, so nothing was done: one collective, "
              "group or other call at a time; use one communicator per thread, or a group");
}

const char* lastErrorText() noexcept {
  return lastError.data;
}

const char* keepText(std::string_view text) noexcept {
  keptText.write("{}", text);
  return keptText.data;
}

std::string_view PinnedCommunicator::refusal() const {
  if (handle_ == nullptr) return "comm is NULL";
  return "comm is not a communicator: it was destroyed or aborted, was never made, or belongs to the parent "
         "of a fork";
}

}  // namespace tutti
