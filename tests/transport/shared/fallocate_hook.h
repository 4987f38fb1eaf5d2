// In front of the C library's fallocate, with which every allocation of an arena ends: a test can do something
// before it, or interrupt it. For the one file of a test program.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace tutti {
// Called with the mode: 0 reserves. False: a signal interrupts the call; kernels differ in when that happens.
inline std::function<bool(int)> beforeFallocate;
}  // namespace tutti

extern "C" int fallocate(int file, int mode, off_t offset, off_t bytes) {
  if (!tutti::beforeFallocate || tutti::beforeFallocate(mode))
    return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, bytes));
  errno = EINTR;
  return -1;
}
