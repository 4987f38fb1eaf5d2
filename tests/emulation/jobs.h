// The jobs that every mutant of the step body is run on: few, small, and each there for the mistakes it
// shows.
#pragma once

#include <string>
#include <vector>

#include "job.h"

namespace tutti::emulation {

struct NamedJob {
  std::string name;
  Job job;
};

std::vector<NamedJob> mutationJobs();

}  // namespace tutti::emulation
