// A table of formats and one encoder and decoder for all of them, driven by the widths of exponent and
// mantissa.
#include "number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace tutti::bench {
namespace {

// A binary floating-point format: sign, exponent, mantissa, from the top.
struct FloatFormat {
  int exponentBits;
  int mantissaBits;
  bool hasInfinity;  // f8e4m3 has none: only all ones is NaN, the rest of the top exponent are numbers
};

struct TypeInfo {
  tuttiDataType_t type;
  const char* name;
  std::size_t bytes;
  bool isFloat;
  bool isUnsigned;
  FloatFormat format;
};

constexpr TypeInfo kTypes[] = {
    {tuttiInt8, "int8", 1, false, false, {}},
    {tuttiUint8, "uint8", 1, false, true, {}},
    {tuttiInt32, "int32", 4, false, false, {}},
    {tuttiUint32, "uint32", 4, false, true, {}},
    {tuttiInt64, "int64", 8, false, false, {}},
    {tuttiUint64, "uint64", 8, false, true, {}},
    {tuttiFloat16, "half", 2, true, false, {5, 10, true}},
    {tuttiFloat32, "float", 4, true, false, {8, 23, true}},
    {tuttiFloat64, "double", 8, true, false, {11, 52, true}},
    {tuttiBfloat16, "bfloat16", 2, true, false, {8, 7, true}},
    {tuttiFloat8e4m3, "f8e4m3", 1, true, false, {4, 3, false}},
    {tuttiFloat8e5m2, "f8e5m2", 1, true, false, {5, 2, true}},
};

struct OperationInfo {
  tuttiRedOp_t op;
  const char* name;
};

constexpr OperationInfo kOperations[] = {
    {tuttiSum, "sum"}, {tuttiProd, "prod"}, {tuttiMin, "min"}, {tuttiMax, "max"}, {tuttiAvg, "avg"}};

const TypeInfo& infoOf(tuttiDataType_t type) {
  for (const TypeInfo& info : kTypes) {
    if (info.type == type) return info;
  }
  std::abort();  // options.cc lets only known types pass
}

std::uint64_t encodeFloat(const FloatFormat& format, long value) {
  if (value == 0) return 0;
  const std::uint64_t sign = value < 0 ? 1 : 0;
  std::uint64_t magnitude = static_cast<std::uint64_t>(value < 0 ? -value : value);
  int exponent = 0;  // of the leading one
  while ((magnitude >> exponent) > 1) exponent++;
  const std::uint64_t fraction = magnitude - (std::uint64_t{1} << exponent);
  const std::uint64_t mantissa = exponent <= format.mantissaBits
                                     ? fraction << (format.mantissaBits - exponent)
                                     : fraction >> (exponent - format.mantissaBits);
  const int bias = (1 << (format.exponentBits - 1)) - 1;
  const std::uint64_t biased = static_cast<std::uint64_t>(exponent + bias);
  return ((sign << format.exponentBits) + biased) << format.mantissaBits | mantissa;
}

double decodeFloat(const FloatFormat& format, std::uint64_t bits) {
  const std::uint64_t mantissa = bits & ((std::uint64_t{1} << format.mantissaBits) - 1);
  const int top = (1 << format.exponentBits) - 1;
  const int biased = static_cast<int>(bits >> format.mantissaBits) & top;
  const bool negative = (bits >> (format.mantissaBits + format.exponentBits)) & 1;
  const bool allOnes = mantissa == (std::uint64_t{1} << format.mantissaBits) - 1;
  double value;
  if (biased == top && format.hasInfinity) {
    value =
        mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (biased == top && allOnes) {
    value = std::numeric_limits<double>::quiet_NaN();
  } else {
    const int bias = (1 << (format.exponentBits - 1)) - 1;
    const double fraction = std::ldexp(static_cast<double>(mantissa), -format.mantissaBits);
    value = biased == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, biased - bias);
  }
  return negative ? -value : value;
}

}  // namespace

const std::vector<tuttiDataType_t>& allTypes() {
  static const std::vector<tuttiDataType_t> types = [] {
    std::vector<tuttiDataType_t> list;
    for (const TypeInfo& info : kTypes) list.push_back(info.type);
    return list;
  }();
  return types;
}

const char* typeName(tuttiDataType_t type) {
  return infoOf(type).name;
}

std::optional<tuttiDataType_t> typeNamed(std::string_view name) {
  for (const TypeInfo& info : kTypes) {
    if (name == info.name) return info.type;
  }
  return std::nullopt;
}

std::size_t bytesOf(tuttiDataType_t type) {
  return infoOf(type).bytes;
}

bool isUnsigned(tuttiDataType_t type) {
  return infoOf(type).isUnsigned;
}

bool isFloat(tuttiDataType_t type) {
  return infoOf(type).isFloat;
}

long largestExact(tuttiDataType_t type) {
  const TypeInfo& info = infoOf(type);
  if (!info.isFloat) return info.bytes == 1 ? 127 : std::numeric_limits<std::int32_t>::max();
  return 1L << std::min(info.format.mantissaBits + 1, 30);
}

const std::vector<tuttiRedOp_t>& allOperations() {
  static const std::vector<tuttiRedOp_t> operations = [] {
    std::vector<tuttiRedOp_t> list;
    for (const OperationInfo& info : kOperations) list.push_back(info.op);
    return list;
  }();
  return operations;
}

const char* operationName(tuttiRedOp_t op) {
  for (const OperationInfo& info : kOperations) {
    if (info.op == op) return info.name;
  }
  std::abort();
}

std::optional<tuttiRedOp_t> operationNamed(std::string_view name) {
  for (const OperationInfo& info : kOperations) {
    if (name == info.name) return info.op;
  }
  return std::nullopt;
}

void encode(tuttiDataType_t type, long value, unsigned char* element) {
  const TypeInfo& info = infoOf(type);
  const std::uint64_t bits =
      info.isFloat ? encodeFloat(info.format, value) : static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < info.bytes; i++) element[i] = static_cast<unsigned char>(bits >> (8 * i));
}

std::string describe(tuttiDataType_t type, const unsigned char* element) {
  const TypeInfo& info = infoOf(type);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < info.bytes; i++) bits |= static_cast<std::uint64_t>(element[i]) << (8 * i);
  const int digits = static_cast<int>(2 * info.bytes);
  if (info.isFloat) return fmt::format("{} (0x{:0{}x})", decodeFloat(info.format, bits), bits, digits);
  if (info.isUnsigned) return fmt::format("{} (0x{:0{}x})", bits, bits, digits);
  const int unused = static_cast<int>(64 - 8 * info.bytes);
  const std::int64_t number = static_cast<std::int64_t>(bits << unused) >> unused;
  return fmt::format("{} (0x{:0{}x})", number, bits, digits);
}

}  // namespace tutti::bench
