// Numbers of every element type as the formats' definitions give them: decoded by their fields, rounded by
// searching the nearest value. It shares no code with kernels/, and is as slow as it is plain.
#pragma once

#include <tutti/tutti.h>

#include <cstddef>
#include <cstdint>

namespace tutti::reference {

std::size_t sizeOf(tuttiDataType_t type);
const char* nameOf(tuttiDataType_t type);
bool isFloat(tuttiDataType_t type);
bool isSigned(tuttiDataType_t type);

// Writes the element of `type` nearest to a finite value, ties to even; what is too large becomes infinite,
// or the largest finite value in 8-bit types. Integers wrap.
void store(tuttiDataType_t type, long double value, void* element);
void storeInteger(tuttiDataType_t type, std::int64_t value, void* element);

long double load(tuttiDataType_t type, const void* element);

}  // namespace tutti::reference
