// The builders, one for each algorithm and one file for each builder. All are pure functions of the request
// and run for any number of ranks; buildSchedule chooses among them. docs/algorithms.md draws what each one
// makes.
#pragma once

#include "collectives/schedule.h"

namespace tutti {

Schedule buildNone(const ScheduleRequest& request);
Schedule buildRing(const ScheduleRequest& request);
Schedule buildOneShot(const ScheduleRequest& request);
Schedule buildTwoShot(const ScheduleRequest& request);
Schedule buildTwoShotWindow(const ScheduleRequest& request);
Schedule buildBinomial(const ScheduleRequest& request);
Schedule buildChain(const ScheduleRequest& request);
Schedule buildDoubleTree(const ScheduleRequest& request);
Schedule buildRecursiveDoubling(const ScheduleRequest& request);
Schedule buildHalvingDoubling(const ScheduleRequest& request);

// All-gather by doubling: the same for recursive doubling and for halving and doubling.
Schedule buildDoublingAllGather(const ScheduleRequest& request);

}  // namespace tutti
