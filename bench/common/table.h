// The table on standard output, in the columns of nccl-tests. Each line is flushed when it is complete.
#pragma once

#include "machine.h"
#include "options.h"
#include "row.h"

namespace tutti::bench {

void printHead(const Options& options, const Machine& machine, TimingMethod method);
void printRow(const Row& row, bool showPlan);
void printSummary(const Summary& summary);

}  // namespace tutti::bench
