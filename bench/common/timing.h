// How long one call takes. The time of a call is that of its slowest rank; what is reported is the median
// over a few batches of calls, so that one disturbance of the machine does not decide the figure.
//
// Back to back (collectives in which every rank needs every other, and rotating roots): a barrier, then all
// calls of the batch one after the other; elapsed / calls, the maximum over ranks.
//
// The maximum is taken over the ranks of all processes, after the batch.
//
// Barrier and maximum (a fixed root): ranks of a broadcast or reduce may leave early and run ahead into the
// next call, which would count the pipelining of several calls as bandwidth of one. So every call follows a
// barrier and is timed by itself on every rank; its time is the maximum over ranks, without the barrier.
#pragma once

#include "ranks.h"

#include <functional>

namespace tutti::bench {

enum class TimingMethod { backToBack, barrierAndMaximum };

struct TimingOptions {
  TimingMethod method;
  long iterations;  // 0: as many as fit in about 0.15 s, at least 3
  long warmups;     // -1: 5, or 1 for calls of 5 ms and more
};

struct Timing {
  double medianUs = 0;
  double leastUs = 0;
  double mostUs = 0;
  long iterations = 0;  // in all batches together
  int batches = 0;
};

// One call on `rank`; `iteration` counts up from 0, alike on all ranks.
using TimedCall = std::function<tuttiResult_t(int rank, long iteration)>;

Outcome measure(Ranks& ranks, const char* what, const TimedCall& call, const TimingOptions& options,
                Timing* timing);

}  // namespace tutti::bench
