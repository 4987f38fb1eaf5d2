// The cells of the matrix that ranks in several processes run, fewer than those of threads: every collective by an
// algorithm, types, operations, roots and placings drawn.
#pragma once

#include <string>
#include <vector>

#include "tests/api/matrix.h"

namespace tutti {

// The same on every rank. `algorithm`: empty if the library chooses.
std::vector<Cell> cellsFor(int nranks, const std::string& algorithm, Registered registered);

// The part of one rank, on a communicator of its own; what is wrong, or nothing.
std::string runCells(const std::vector<Cell>& cells, int rank, const tuttiUniqueId& id);

}  // namespace tutti
