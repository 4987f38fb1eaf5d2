// A small float is a sign, an exponent and a mantissa; all positive ones are listed in ascending order, where
// the place in the list is the code. See numbers.h.
#include "tests/support/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace tutti::reference {
namespace {

struct Format {
  int exponentBits;
  int mantissaBits;
  bool eightBit;              // saturates
  std::uint32_t finiteCodes;  // positive codes below this one are finite
};

Format formatOf(tuttiDataType_t type) {
  switch (type) {
    case tuttiFloat16:
      return {5, 10, false, 0x7c00};
    case tuttiBfloat16:
      return {8, 7, false, 0x7f80};
    case tuttiFloat8e4m3:
      return {4, 3, true, 0x7f};
    default:
      return {5, 2, true, 0x7c};
  }
}

std::vector<long double> listOf(const Format& format) {
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  std::vector<long double> values;
  for (std::uint32_t code = 0; code < format.finiteCodes; ++code) {
    const int exponent = static_cast<int>(code >> format.mantissaBits);
    const auto mantissa = static_cast<long double>(code & ((1u << format.mantissaBits) - 1));
    const long double fraction = mantissa / static_cast<long double>(1 << format.mantissaBits);
    values.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                   : std::ldexp(1 + fraction, exponent - bias));
  }
  return values;
}

const std::vector<long double>& valuesOf(tuttiDataType_t type) {
  static const std::vector<long double> half = listOf(formatOf(tuttiFloat16));
  static const std::vector<long double> bfloat = listOf(formatOf(tuttiBfloat16));
  static const std::vector<long double> e4m3 = listOf(formatOf(tuttiFloat8e4m3));
  static const std::vector<long double> e5m2 = listOf(formatOf(tuttiFloat8e5m2));
  return type == tuttiFloat16 ? half : type == tuttiBfloat16 ? bfloat : type == tuttiFloat8e4m3 ? e4m3 : e5m2;
}

std::uint32_t codeOf(tuttiDataType_t type, long double value) {
  const Format format = formatOf(type);
  const std::vector<long double>& values = valuesOf(type);
  const std::uint32_t sign = std::signbit(value) ? 1u << (format.exponentBits + format.mantissaBits) : 0u;
  const long double size = std::fabs(value);
  const auto above = std::lower_bound(values.begin(), values.end(), size);
  if (above == values.end()) {
    const long double last = values.back();
    const long double step = last - values[values.size() - 2];
    // From half a step beyond the last value on it rounds away from it.
    if (format.eightBit || size < last + step / 2)
      return sign | static_cast<std::uint32_t>(values.size() - 1);
    return sign | format.finiteCodes;
  }
  auto code = static_cast<std::uint32_t>(above - values.begin());
  if (*above != size && code > 0) {
    const long double toAbove = *above - size;
    const long double toBelow = size - values[code - 1];
    if (toBelow < toAbove || (toBelow == toAbove && code % 2 != 0)) --code;
  }
  return sign | code;
}

}  // namespace

std::size_t sizeOf(tuttiDataType_t type) {
  static constexpr std::array<std::size_t, 12> sizes = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return sizes[static_cast<std::size_t>(type)];
}

const char* nameOf(tuttiDataType_t type) {
  static constexpr std::array<const char*, 12> names = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                                        "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
  return names[static_cast<std::size_t>(type)];
}

bool isFloat(tuttiDataType_t type) {
  return type >= tuttiFloat16;
}

bool isSigned(tuttiDataType_t type) {
  return type != tuttiUint8 && type != tuttiUint32 && type != tuttiUint64;
}

void store(tuttiDataType_t type, long double value, void* element) {
  if (type == tuttiFloat32) {
    const auto number = static_cast<float>(value);
    std::memcpy(element, &number, sizeof(number));
  } else if (type == tuttiFloat64) {
    const auto number = static_cast<double>(value);
    std::memcpy(element, &number, sizeof(number));
  } else if (isFloat(type)) {
    const std::uint32_t code = codeOf(type, value);
    std::memcpy(element, &code, sizeOf(type));  // little endian
  } else {
    storeInteger(type, static_cast<std::int64_t>(value), element);
  }
}

void storeInteger(tuttiDataType_t type, std::int64_t value, void* element) {
  std::memcpy(element, &value, sizeOf(type));  // little endian: the low bytes
}

long double load(tuttiDataType_t type, const void* element) {
  const auto as = [element](auto number) {
    std::memcpy(&number, element, sizeof(number));
    return static_cast<long double>(number);
  };
  switch (type) {
    case tuttiInt8:
      return as(std::int8_t{});
    case tuttiUint8:
      return as(std::uint8_t{});
    case tuttiInt32:
      return as(std::int32_t{});
    case tuttiUint32:
      return as(std::uint32_t{});
    case tuttiInt64:
      return as(std::int64_t{});
    case tuttiUint64:
      return as(std::uint64_t{});
    case tuttiFloat32:
      return as(float{});
    case tuttiFloat64:
      return as(double{});
    default:
      break;
  }
  const Format format = formatOf(type);
  std::uint32_t code = 0;
  std::memcpy(&code, element, sizeOf(type));
  const std::uint32_t signBit = 1u << (format.exponentBits + format.mantissaBits);
  const std::uint32_t magnitude = code & (signBit - 1);
  const std::vector<long double>& values = valuesOf(type);
  const long double size = magnitude < values.size() ? values[magnitude]
                           : magnitude == format.finiteCodes && type != tuttiFloat8e4m3
                               ? std::numeric_limits<long double>::infinity()
                               : std::numeric_limits<long double>::quiet_NaN();
  return (code & signBit) != 0 ? -size : size;
}

}  // namespace tutti::reference
