// Between reduce_copy.cc and the files that hold the SIMD versions, one file for each group of types. Each
// function returns the version for `target` (a bit of Highway's), or null if the file was not compiled for
// it.
#pragma once

#include <cstdint>

#include "kernels/reduce_copy.h"

namespace tutti {

ReduceCopyFunction reduceCopyWideFloats(std::int64_t target, DataType type, Operation operation);  // f32 f64
ReduceCopyFunction reduceCopyHalfFloats(std::int64_t target, DataType type, Operation operation);  // f16 bf16
ReduceCopyFunction reduceCopyEightBitFloats(std::int64_t target, DataType type, Operation operation);
ReduceCopyFunction reduceCopyIntegers(std::int64_t target, DataType type,
                                      Operation operation);  // all but averages
ReduceCopyFunction reduceCopyIntegerAverages(std::int64_t target, DataType type);

}  // namespace tutti
