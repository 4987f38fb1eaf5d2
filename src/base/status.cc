// The cold side of Status, and the names of the result codes as tuttiGetErrorString gives them.
#include "base/status.h"

namespace tutti {

// Made when the library is loaded: a text of 13 bytes lies in the string itself.
const Status::Failure& Status::noMemory() noexcept {
  static const Failure* const failure = new Failure{Code::systemError, "out of memory"};
  return *failure;
}

Status Status::outOfMemory() noexcept {
  Status status;
  status.failure_ = &noMemory();
  return status;
}

namespace {
// A fork in the middle of the making would leave the child waiting for its end.
[[maybe_unused]] const Status kMadeAtLoad = Status::outOfMemory();
[[maybe_unused]] const std::string& kNoneMadeAtLoad = Status().message();
}  // namespace

Status::Status(Code code, std::string message)
    : failure_(code == Code::ok ? nullptr : new Failure{code, std::move(message)}) {}

const Status::Failure* Status::copyOf(const Failure& failure) {
  return &failure == &noMemory() ? &failure : new Failure(failure);
}

void Status::release() noexcept {
  if (failure_ != &noMemory()) delete failure_;
}

const std::string& Status::message() const {
  static const std::string* const none = new std::string;
  return isOk() ? *none : failure_->message;
}

const char* nameOf(Code code) {
  switch (code) {
    case Code::ok:
      return "no error";
    case Code::deviceError:
      return "device error";
    case Code::systemError:
      return "system error";
    case Code::internalError:
      return "internal error of tutti: please report it";
    case Code::invalidArgument:
      return "invalid argument";
    case Code::invalidUsage:
      return "invalid usage";
    case Code::remoteError:
      return "a peer has failed";
    case Code::timeout:
      return "a deadline has passed";
    case Code::mismatch:
      return "ranks made different calls";
    case Code::broken:
      return "the communicator is broken";
    case Code::notSupported:
      return "not supported by this version of tutti";
  }
  return "unknown result";
}

}  // namespace tutti
