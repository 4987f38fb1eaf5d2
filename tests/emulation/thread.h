// One emulated GPU thread, as the step body's context sees it: its place in its block, the block's barriers,
// and the moments at which the machine may run something else. Two machines play it: seeded fibers
// (fiber_machine.cc) and real threads (thread_machine.cc).
#pragma once

#include <cstdint>

#include "base/mailbox_end.h"
#include "kernels/reduction.h"

namespace tutti::emulation {

class Thread {
 public:
  Thread(int rank, int block, std::uint32_t tid, std::uint32_t ntid)
      : rank_(rank), block_(block), tid_(tid), ntid_(ntid) {}
  virtual ~Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  int rank() const { return rank_; }
  int block() const { return block_; }
  std::uint32_t tid() const { return tid_; }
  std::uint32_t ntid() const { return ntid_; }

  // Barriers of the block. sync() and every() wait for each other never: threads that part there are stuck.
  virtual void sync() = 0;
  virtual bool every(bool own) = 0;
  // Barrier of all threads of the rank: the order of two kernels on one stream.
  virtual void syncRank() = 0;

  virtual void point() = 0;     // anybody may run now
  virtual void miss() = 0;      // nothing to do here: others should run
  virtual void progress() = 0;  // something happened that others may wait for
  // The call that the thread is in, or -1; for the count of interleavings.
  virtual void enterCall(int call) = 0;
  // A message of another call was seen.
  virtual void suspect(const MailboxEnd& end) = 0;

  // Elements begin, begin + stride, ... below end, by the reference, with a point after each.
  virtual void copyElements(const Reduction& reduction, const Source* sources, int nsources,
                            const Destination* destinations, int ndestinations, std::uint64_t begin,
                            std::uint64_t end, std::uint64_t stride);

 private:
  int rank_;
  int block_;
  std::uint32_t tid_;
  std::uint32_t ntid_;
};

}  // namespace tutti::emulation
