// The communicators that ranks of this process are joining: the first rank that is through makes what they share,
// the others take it.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "api/host_group.h"

namespace tutti {

// Any thread.
class SharedGroups {
 private:
  struct Entry {
    std::size_t places = 0;
    bool tried = false;
    std::shared_ptr<HostGroup> group;
  };

 public:
  // A rank of this process on its way into the communicator of a job. To be there before the others know of the rank,
  // so that its process has all places before one of them takes; what is shared is forgotten with the last.
  class Place {
   public:
    Place(SharedGroups& groups, const std::string& job) : groups_(groups) {
      const std::lock_guard lock(groups_.mutex_);
      entry_ = groups_.entries_.try_emplace(job).first;
      ++entry_->second.places;
    }
    ~Place() {
      const std::lock_guard lock(groups_.mutex_);
      if (--entry_->second.places == 0) groups_.entries_.erase(entry_);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    // Null, then for every rank of this process, when there is no memory to make it.
    template <class Make>
    std::shared_ptr<HostGroup> take(const Make& make) {
      const std::lock_guard lock(groups_.mutex_);
      Entry& entry = entry_->second;
      if (!std::exchange(entry.tried, true)) {
        try {
          entry.group = make();
        } catch (const std::bad_alloc&) {
          return nullptr;
        }
      }
      return entry.group;
    }

   private:
    SharedGroups& groups_;
    std::map<std::string, Entry>::iterator entry_;
  };

  bool isEmpty() const {
    const std::lock_guard lock(mutex_);
    return entries_.empty();
  }

 private:
  mutable std::mutex mutex_;              // guards what follows
  std::map<std::string, Entry> entries_;  // by job
};

}  // namespace tutti
