// The texts, one set per thread.
#include "api/boundary.h"

#include <fmt/format.h>

#include "api/communicator.h"

namespace tutti {
namespace {

thread_local std::string lastError;
thread_local std::string keptText;

tuttiResult_t keep(Code code, std::string text) {
  lastError = std::move(text);
  return static_cast<tuttiResult_t>(code);
}

}  // namespace

tuttiResult_t fail(const char* function, const Status& status) {
  return keep(status.code(), fmt::format("{}: {}", function, status.message()));
}

tuttiResult_t fail(const char* function, const Communicator& communicator, const Status& status) {
  return keep(status.code(),
              fmt::format("{} on rank {} of {} of communicator {}: {}", function, communicator.rank(),
                          communicator.nranks(), communicator.label(), status.message()));
}

const std::string& lastErrorText() {
  return lastError;
}

const char* keepText(std::string text) {
  keptText = std::move(text);
  return keptText.c_str();
}

Status PinnedCommunicator::refusal() const {
  if (handle_ == nullptr) return Status(Code::invalidArgument, "comm is NULL");
  return Status(Code::invalidArgument,
                "comm is not a communicator: it was destroyed or aborted, was never made, or belongs to the "
                "parent of a "
                "fork");
}

}  // namespace tutti
