// Where a process of a test runs: in namespaces of its own, with other file systems, few descriptors, as another user.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tutti {

struct Surroundings {
  struct Tmpfs {
    std::string at;       // hides what was there
    std::string options;  // of mount
  };

  int namespaces = 0;  // CLONE_NEW*, as unshare() takes them
  std::vector<Tmpfs> tmpfs = {};
  int descriptors = 0;  // the most that may be open; 0: as many as before
  uid_t user = 0;       // and group; 0: the same as before
};

// Takes this process there; answers what is wrong, or nothing. With CLONE_NEWPID what goes on is a child, the first
// process of its namespace. Its parent ends as it ends, and takes it along when it is killed. One thread only.
std::string enter(const Surroundings& surroundings);

// Why nobody gets there on this machine; empty: it works.
std::string refusalOf(const Surroundings& surroundings);

}  // namespace tutti
