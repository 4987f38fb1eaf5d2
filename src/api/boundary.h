// The C boundary: turns a Status into a result code and a retrievable text, and keeps exceptions of the
// standard library inside. Nothing else throws or catches.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "api/process.h"
#include "base/status.h"
#include "tutti/tutti.h"

namespace tutti {

// Keep the text for tuttiGetLastError and answer the code; the second names communicator and rank.
tuttiResult_t fail(const char* function, const Status& status);
tuttiResult_t fail(const char* function, const Communicator& communicator, const Status& status);

// Success changes nothing.
inline tuttiResult_t answer(const char* function, const Status& status) {
  return status.isOk() ? tuttiSuccess : fail(function, status);
}
inline tuttiResult_t answer(const char* function, const Communicator& communicator, const Status& status) {
  return status.isOk() ? tuttiSuccess : fail(function, communicator, status);
}

// The text of the calling thread's last failure; the second keeps what tuttiGetLastError last gave out for a
// broken communicator.
const std::string& lastErrorText();
const char* keepText(std::string text);

// Runs `body`, a function without arguments that answers a Status, behind the one guard.
template <class Body>
tuttiResult_t guarded(const char* function, Body&& body) {
  try {
    return answer(function, body());
  } catch (const std::bad_alloc&) {
    return answer(function, Status(Code::systemError, "out of memory"));
  } catch (const std::exception& error) {
    return answer(function, Status(Code::internalError, error.what()));
  }
}

// A communicator looked up for the time of a call.
class PinnedCommunicator {
 public:
  explicit PinnedCommunicator(tuttiComm_t handle)
      : handle_(handle), object_(Process::get().handles().acquire(handle)) {}
  ~PinnedCommunicator() {
    if (object_ != nullptr) Process::get().handles().release(handle_);
  }
  PinnedCommunicator(PinnedCommunicator&& other) noexcept : handle_(other.handle_), object_(other.object_) {
    other.object_ = nullptr;
  }
  PinnedCommunicator& operator=(PinnedCommunicator&&) = delete;

  tuttiComm_t handle() const { return handle_; }
  Communicator* get() const { return object_; }
  Communicator* operator->() const { return object_; }
  Communicator& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

  Status refusal() const;  // for a handle that is none

 private:
  tuttiComm_t handle_;
  Communicator* object_;
};

// guarded(), for a body that takes the communicator behind a handle; its failures name communicator and rank.
template <class Body>
tuttiResult_t onCommunicator(const char* function, tuttiComm_t handle, Body&& body) {
  const PinnedCommunicator communicator(handle);
  if (!communicator) return answer(function, communicator.refusal());
  try {
    return answer(function, *communicator, body(*communicator));
  } catch (const std::bad_alloc&) {
    return answer(function, *communicator, Status(Code::systemError, "out of memory"));
  } catch (const std::exception& error) {
    return answer(function, *communicator, Status(Code::internalError, error.what()));
  }
}

}  // namespace tutti
