// The table on standard output, in the columns of nccl-tests. Each line is flushed when it is complete; once
// one is lost, the rest is left out.
#pragma once

#include "cpus.h"
#include "machine.h"
#include "options.h"
#include "row.h"

#include <string>

namespace tutti::bench {

class Table {
 public:
  void head(const Options& options, const Machine& machine, const CpuShare& cpus, TimingMethod method);
  void row(const Row& row, bool showPlan);
  void summary(const Summary& summary);

  // Not empty: the table is not whole, for this reason.
  const std::string& error() const { return error_; }

 private:
  void write(const std::string& text);

  std::string error_;
};

}  // namespace tutti::bench
