// The element types as the benchmarks see them: names, sizes, and bytes of small whole numbers. Written from
// the formats' definitions in the plainest way and on purpose without a line of the library, so that it can
// judge the library.
#pragma once

#include <tutti/tutti.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::bench {

inline constexpr std::size_t kLargestElement = 8;

// Names as in nccl-tests: "float", "half", "f8e4m3", ...
const std::vector<tuttiDataType_t>& allTypes();
const char* typeName(tuttiDataType_t type);
std::optional<tuttiDataType_t> typeNamed(std::string_view name);
std::size_t bytesOf(tuttiDataType_t type);
bool isUnsigned(tuttiDataType_t type);
bool isFloat(tuttiDataType_t type);

// Every whole number from 0 to this one has an exact representation.
long largestExact(tuttiDataType_t type);

const std::vector<tuttiRedOp_t>& allOperations();
const char* operationName(tuttiRedOp_t op);
std::optional<tuttiRedOp_t> operationNamed(std::string_view name);

// Writes bytesOf(type) bytes. value is exactly representable; zero is +0.
void encode(tuttiDataType_t type, long value, unsigned char* element);

// The number and its bits, for people: "3 (0x40400000)".
std::string describe(tuttiDataType_t type, const unsigned char* element);

}  // namespace tutti::bench
