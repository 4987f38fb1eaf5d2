// The C boundary: turns a Status into a result code and a retrievable text, and keeps exceptions of the
// standard library inside. Nothing else throws or catches.
#pragma once

#include <pthread.h>

#include <exception>
#include <new>
#include <string_view>

#include "api/process.h"
#include "base/status.h"
#include "tutti/tutti.h"

namespace tutti {

// Keep the text for tuttiGetLastError and answer the code; the second names communicator and rank. They need
// no memory.
tuttiResult_t fail(const char* function, Code code, std::string_view message) noexcept;
tuttiResult_t fail(const char* function, const Communicator& communicator, Code code,
                   std::string_view message) noexcept;

// Success changes nothing.
inline tuttiResult_t answer(const char* function, const Status& status) noexcept {
  return status.isOk() ? tuttiSuccess : fail(function, status.code(), status.message());
}
inline tuttiResult_t answer(const char* function, const Communicator& communicator,
                            const Status& status) noexcept {
  return status.isOk() ? tuttiSuccess : fail(function, communicator, status.code(), status.message());
}

// The text of the calling thread's last failure; the second keeps what tuttiGetLastError gives out.
const char* lastErrorText() noexcept;
const char* keepText(std::string_view text) noexcept;

// Runs `body`, which answers a tuttiResult_t, behind the one guard.
template <class Body>
[[gnu::always_inline]] inline tuttiResult_t caught(const char* function, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return fail(function, Code::systemError, "out of memory");
  } catch (const std::exception& error) {
    return fail(function, Code::internalError, error.what());
  }
}

// A thread that is being cancelled ends after the call.
class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

// The same for a function without arguments that answers a Status.
template <class Body>
tuttiResult_t guarded(const char* function, Body&& body) noexcept {
  const NoCancellation guard;
  return caught(function, [&] { return answer(function, body()); });
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

  std::string_view refusal() const;  // invalidArgument, for a handle that is none

 private:
  tuttiComm_t handle_;
  Communicator* object_;
};

// A communicator entered for the time of a call: no other thread begins one on it.
class EnteredCommunicator {
 public:
  explicit EnteredCommunicator(tuttiComm_t handle)
      : handle_(handle), object_(Process::get().handles().enter(handle)) {}
  ~EnteredCommunicator() {
    if (object_ != nullptr) Process::get().handles().leave(handle_);
  }
  EnteredCommunicator(const EnteredCommunicator&) = delete;

  Communicator& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  tuttiComm_t handle_;
  Communicator* object_;
};

// The answer where a communicator could not be entered: the handle is none, or another thread is inside.
tuttiResult_t failToEnter(const char* function, tuttiComm_t handle) noexcept;

// guarded(), for a body that takes the communicator behind a handle; its failures name communicator and rank.
template <class Body>
tuttiResult_t onCommunicator(const char* function, tuttiComm_t handle, Body&& body) noexcept {
  return caught(function, [&] {
    const PinnedCommunicator communicator(handle);
    if (!communicator) return fail(function, Code::invalidArgument, communicator.refusal());
    return answer(function, *communicator, body(*communicator));
  });
}

// The same for what one thread at a time may do.
template <class Body>
[[gnu::always_inline]] inline tuttiResult_t inCommunicator(const char* function, tuttiComm_t handle,
                                                           Body&& body) noexcept {
  return caught(
      function, [&]() __attribute__((always_inline)) {
        const EnteredCommunicator communicator(handle);
        if (!communicator) return failToEnter(function, handle);
        return answer(function, *communicator, body(*communicator));
      });
}

}  // namespace tutti
