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

  // The same as ofThisThread().isOpen(), for the path of every call.
  static bool isOpenHere() { return depth_ != 0; }

  bool isOpen() const { return depth_ != 0; }
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
  };

  static Status runAll(std::vector<Pending>& calls);

  // Beside the object, so that asking costs one load: the object itself is made on first use.
  static constinit thread_local int depth_ __attribute__((tls_model("initial-exec")));
  Status refusal_;
  std::vector<Pending> calls_;
};

}  // namespace tutti
