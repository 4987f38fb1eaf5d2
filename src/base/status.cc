// The cold side of Status, and the names of the result codes as tuttiGetErrorString gives them.
#include "base/status.h"

namespace tutti {

Status::Status(Code code, std::string message)
    : failure_(code == Code::ok ? nullptr
                                : std::make_unique<const Failure>(Failure{code, std::move(message)})) {}

Status::Status(const Status& other)
    : failure_(other.isOk() ? nullptr : std::make_unique<const Failure>(*other.failure_)) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) *this = Status(other);
  return *this;
}

const std::string& Status::message() const {
  static const std::string none;
  return isOk() ? none : failure_->message;
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
