// Calls that are begun together: noted between tuttiGroupStart and tuttiGroupEnd, then polled in turn by one
// thread. Each communicator works through its own calls in order; none waits for another's.
#pragma once

#include "api/boundary.h"
#include "api/communicator.h"

namespace tutti {

// The calling thread's group.
class Group {
 public:
  static Group& ofThisThread();

  // Whether the calling thread has one open; does not make the object.
  static bool isOpenHere() { return depth_ != 0; }

  bool holds(const Communicator& communicator) const;

  void open() { ++depth_; }
  // Notes a call whose arguments were accepted.
  void add(PinnedCommunicator communicator, const CallRequest& request);
  // Notes that a call was refused: the group will begin nothing.
  void refuse(const Status& status);
  // Closes one level; the outermost runs the calls.
  Status close();

 private:
  struct Pending {
    PinnedCommunicator communicator;
    CallRequest request;
    int forks;  // of this process when the call was noted: a child has no part in its parent's groups
  };

  static Status runAll(std::vector<Pending>& calls);

  // Beside the object, so that asking costs one load: the object itself is made on first use.
  static constinit thread_local int depth_;
  Status refusal_;
  std::vector<Pending> calls_;
};

}  // namespace tutti
