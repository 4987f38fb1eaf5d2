// Where the kernels of one element type are found. Each type is a compilation of its own, so that they are made
// side by side; launch.cc picks.
#pragma once

#include "base/number_types.h"

namespace tutti::cuda {

// What cudaLaunchKernel calls a function.
template <DataType type>
const void* reduceCopyKernel(Operation operation);
template <DataType type>
const void* virtualRanksKernel(Operation operation);

}  // namespace tutti::cuda
