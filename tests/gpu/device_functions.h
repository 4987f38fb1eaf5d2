// The device's reduceCopy as the host compiles it, by type and operation.
#pragma once

#include <cstdint>

#include "kernels/cuda/reduce_copy.cuh"

namespace tutti::cuda {

using DeviceReduceCopy = void (*)(const Reduction& reduction, const Source* sources, int nsources,
                                  const Destination* destinations, int ndestinations, std::uint64_t count,
                                  Share share);

DeviceReduceCopy deviceReduceCopyOf(DataType type, Operation operation);
// For operands in the staging.
DeviceReduceCopy deviceReduceCopyStagedOf(DataType type, Operation operation);

}  // namespace tutti::cuda
