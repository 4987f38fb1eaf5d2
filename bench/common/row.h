// One line of results: plain data between the runner, which fills it, and the table and the JSON file, which
// show it.
#pragma once

#include "timing.h"

#include <cstddef>
#include <string>

namespace tutti::bench {

struct RowResult {
  Timing timing;
  double algbwGBps = 0;
  double busbwGBps = 0;
  long wrong = -1;  // -1: not checked
  tuttiPlan_t plan =
      TUTTI_PLAN_INIT;  // rank 0's last timed call; algorithm empty if the library does not say
};

struct Row {
  std::size_t sizeBytes;
  std::size_t count;
  std::string type;
  std::string op;    // "none" for collectives without one
  std::string root;  // "-1" for collectives without one
  RowResult outOfPlace, inPlace;
};

struct Summary {
  double averageBusbwGBps = 0;
  long wrong = 0;
  bool checked = false;
  std::string failure;  // not empty: a call failed, and the rows end before it
};

}  // namespace tutti::bench
