// Status and Result<T>: how every fallible function of the library answers. The place that knows the cause
// writes the message, once; callers pass it on with TUTTI_TRY. "Not yet" is not an error and has no code
// here.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace tutti {

// What the caller can do about it. The numbers are the public result codes of tutti.h.
enum class Code : int {
  ok = 0,
  deviceError = 1,       // CUDA said no: see the message
  systemError = 2,       // the operating system said no: free something or allow something
  internalError = 3,     // a fault of ours: report it
  invalidArgument = 4,   // fix this call; nothing has moved
  invalidUsage = 5,      // fix the order or the threads of the calls
  remoteError = 6,       // a peer died or left: rebuild the communicator without it
  timeout = 0x100,       // a deadline passed: the message lists who is missing
  mismatch = 0x101,      // ranks made different calls: the message lists them
  broken = 0x102,        // the communicator has failed or was aborted before: the message has the first cause
  notSupported = 0x103,  // not built yet: choose another way
};

const char* nameOf(Code code);

// One null pointer when all is well, so that passing it through the layers of a call costs nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);
  Status(const Status& other) : failure_(other.failure_ == nullptr ? nullptr : copyOf(*other.failure_)) {}
  Status(Status&& other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  Status& operator=(Status other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~Status() {
    if (failure_ != nullptr) release();
  }

  // systemError, "out of memory": needs none itself.
  static Status outOfMemory() noexcept;

  bool isOk() const { return failure_ == nullptr; }
  Code code() const { return isOk() ? Code::ok : failure_->code; }
  const std::string& message() const;  // empty when all is well

 private:
  struct Failure {
    Code code;
    std::string message;
  };
  static const Failure& noMemory() noexcept;
  static const Failure* copyOf(const Failure& failure);
  void release() noexcept;

  const Failure* failure_ = nullptr;  // owned, unless it is noMemory()
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) { assert(!status_.isOk()); }  // NOLINT

  bool isOk() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }

 private:
  Status status_;
  std::optional<T> value_;
};

inline Status statusOf(Status status) {
  return status;
}
template <class T>
Status statusOf(const Result<T>& result) {
  return result.status();
}

}  // namespace tutti

// Returns the failure of an expression of type Status to the caller. The only macro that returns.
#define TUTTI_TRY(expression)                                                                            \
  do {                                                                                                   \
    if (::tutti::Status tuttiTryStatus_ = (expression); !tuttiTryStatus_.isOk()) return tuttiTryStatus_; \
  } while (false)
