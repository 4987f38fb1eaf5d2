// Fibers on one OS thread under a seeded scheduler: which fiber runs next depends on the seed and on nothing
// else, so every failure can be run again. Thread sanitizer is told that fibers are threads and that switches
// order nothing, so it reports the races of the program, not of this one schedule.
//
// Implemented in a file that is compiled without sanitizers (its own bookkeeping would be reported);
// therefore this header has no inline code and no standard types whose code both sides would share.
#pragma once

#include <cstdint>

namespace tutti::emulation {

struct Fiber;

enum class Ending { finished, stalled };

class Scheduler {
 public:
  // How often and to whom it switches is chosen by the seed too (fibers.cc).
  explicit Scheduler(std::uint64_t seed);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // `group`: fibers of one group (a rank) are not counted as interleaved with each other.
  void add(int group, void (*main)(void*), void* argument);

  // Runs all fibers to their end, or until they make no progress any more: then they are abandoned where they
  // are.
  Ending run();

  // Called by the running fiber.
  void point();
  void miss();
  void progress();
  void setCall(int call);  // counts switches between groups that are in the same call; -1: in none

  std::uint64_t switches() const;
  std::uint64_t interleavings(int call) const;  // of calls 0..kMostCalls-1; 0 of later ones

  static constexpr int kMostCalls = 64;

  struct State;

 private:
  friend class FiberBarrier;

  void block();
  void wake(Fiber* fiber);
  void switchTo(Fiber* next);
  Fiber* choose();
  void leaveStalled();
  static void enter(unsigned low, unsigned high);

  State* state_;
};

// A barrier of `count` fibers that tells whether all of them said true.
class FiberBarrier {
 public:
  FiberBarrier(Scheduler& scheduler, int count);
  ~FiberBarrier();
  FiberBarrier(const FiberBarrier&) = delete;
  FiberBarrier& operator=(const FiberBarrier&) = delete;

  bool arrive(bool own);

 private:
  Scheduler& scheduler_;
  int count_;
  int arrived_ = 0;
  std::uint32_t generation_ = 0;
  // By parity of the generation: a fast thread arrives at the next barrier before a slow one has left this
  // one.
  bool all_[2] = {true, true};
  char order_[2] = {0, 0};  // what the sanitizer knows the barrier by
  Fiber** waiting_;
};

}  // namespace tutti::emulation
