// The communicators that ranks of this process are joining: the first rank that is through makes what they share,
// the others take it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "api/host_group.h"

namespace tutti {

class SharedGroups {
 public:
  // Called once by each of the `locals` ranks of this process. Any thread.
  template <class Make>
  std::shared_ptr<HostGroup> take(const std::string& job, std::size_t locals, const Make& make) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[job];
    if (entry.group == nullptr) entry.group = make();
    std::shared_ptr<HostGroup> group = entry.group;
    if (++entry.taken == locals) entries_.erase(job);
    return group;
  }

 private:
  struct Entry {
    std::shared_ptr<HostGroup> group;
    std::size_t taken = 0;
  };

  std::mutex mutex_;  // guards what follows
  std::map<std::string, Entry> entries_;
};

}  // namespace tutti
