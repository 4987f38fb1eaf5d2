// What a system that says no looks like: for a child process, which cannot take it back.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cstddef>
#include <fstream>

namespace tutti {

// A sanitizer's shadow takes terabytes of address space.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kLimitsAddressSpace = false;
#else
inline constexpr bool kLimitsAddressSpace = true;
#endif

inline bool setLimit(int resource, rlim_t most) {
  const rlimit limit = {most, most};
  return setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0;
}

// Every call of it fails with `error` from now on.
inline bool refuseSystemCall(int number, int error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {4, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// Bytes of address space in use.
inline rlim_t addressSpace() {
  std::ifstream in("/proc/self/statm");
  rlim_t pages = 0;
  in >> pages;
  return pages * 4096;
}

}  // namespace tutti
