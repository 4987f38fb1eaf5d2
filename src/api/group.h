// The calling thread's group: calls that are noted between tuttiGroupStart and tuttiGroupEnd, to be begun
// together. Running them is group_run.h's.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/boundary.h"
#include "api/group_init.h"
#include "api/group_run.h"
#include "base/cache_lines.h"

namespace tutti {

// Lives while it is open. A thread that ends with its group open drops it: nothing of it is begun, and no
// communicator is held back.
class Group {
 public:
  Group() { groups_.fetch_add(1, std::memory_order_relaxed); }
  ~Group() { groups_.fetch_sub(1, std::memory_order_relaxed); }
  Group(const Group&) = delete;

  static bool isOpenHere() { return groups_.load(std::memory_order_relaxed) != 0 && here_ != nullptr; }

  // Opens the group, or one more level of it.
  static Status open();
  // Closes one level; the outermost runs the calls and answers for them.
  static tuttiResult_t close(const char* function);

  // The rest is for an open one.
  static Group& here() { return *here_; }

  bool holds(const Communicator& communicator) const;
  // Notes a call whose arguments were accepted.
  void add(PinnedCommunicator communicator, const CallRequest& request);
  void add(NotedInit init) { inits_.push_back(std::move(init)); }
  // Notes that a call was refused, with the text of the thread's last error: the group will begin nothing.
  void refuse(tuttiResult_t result) noexcept;

 private:
  struct Key;
  static void threadEnds(void* group);

  // The object itself, so that asking costs one load; the thread's end is told by a key of pthreads, which,
  // unlike an object with a destructor, can be refused without ending the process.
  static constinit thread_local Group* here_;
  static const Key& madeAtLoad_;
  // Of all threads; in the child of a fork more than there are. Asked first, because in a shared library what a thread has
  // of its own is found by a call.
  alignas(kApart) static inline std::atomic<std::uint32_t> groups_{0};

  int depth_ = 0;
  bool threadEnds_ = false;
  Code refused_ = Code::ok;
  std::string refusal_;
  std::vector<NotedInit> inits_;
  std::vector<NotedCall> calls_;
};

// Around the answer of every function that does more than ask: an error makes the open group begin nothing.
inline tuttiResult_t countedInGroup(tuttiResult_t result) noexcept {
  if (result != tuttiSuccess && Group::isOpenHere()) [[unlikely]]
    Group::here().refuse(result);
  return result;
}

}  // namespace tutti
