// A thread of the library's own: the program's signals are for the program's threads.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace tutti {

// Throws std::system_error when there is no thread to be had.
template <class Body>
std::thread quietThread(Body&& body) {
  struct AllBlocked {
    AllBlocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~AllBlocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before;
  };
  const AllBlocked inherited;
  return std::thread(std::forward<Body>(body));
}

}  // namespace tutti
