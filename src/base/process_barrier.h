// A memory barrier in the threads of other processes (membarrier(2)): for a rare side that would rather pay for both
// than have the frequent side pay for a fence each time.
#pragma once

namespace tutti {

// From now on this process takes part in passProcessBarrier() of any process. Costs milliseconds in a process with
// several threads, the first time. False: the system does not allow it, so its threads have to fence by themselves.
bool joinProcessBarriers() noexcept;

// When it returns true, every thread of the processes that take part has passed a full barrier since the call began.
// False: the system does not allow it, and nothing was ordered.
bool passProcessBarrier() noexcept;

}  // namespace tutti
