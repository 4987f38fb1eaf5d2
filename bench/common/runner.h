// A whole *_perf program: reads the options, makes the ranks and their buffers, measures and checks every
// line, prints the table, writes the JSON file. The main function of each program is one call of it.
#pragma once

#include "collective.h"

namespace tutti::bench {

// Returns the exit status (options.h).
int runPerf(const Collective& collective, int argc, char** argv);

}  // namespace tutti::bench
