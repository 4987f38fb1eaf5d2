// The run as a JSON file: machine, version, command, options and every number of every line, so that figures
// in texts can be made by a script (bench/report) instead of by hand.
#pragma once

#include "machine.h"
#include "options.h"
#include "row.h"

#include <string>
#include <vector>

namespace tutti::bench {

struct RunRecord {
  const Collective* collective;
  const Options* options;
  Machine machine;
  std::string date;
  TimingMethod method;
  std::vector<Row> rows;
  Summary summary;
};

// Empty when written, else what went wrong; an older file is then as it was. For runs that came to their end
// only: a file says nothing of failures.
std::string writeJson(const RunRecord& record, const std::string& path);

}  // namespace tutti::bench
