// The element types, operations and forms of numbers that every layer speaks about, and their sizes.
// The values equal the public ones of tutti.h (a test holds them equal); arithmetic lives in kernels/.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tutti {

enum class DataType : std::uint8_t {
  i8 = 0,
  u8 = 1,
  i32 = 2,
  u32 = 3,
  i64 = 4,
  u64 = 5,
  f16 = 6,
  f32 = 7,
  f64 = 8,
  bf16 = 9,
  f8e4m3 = 10,
  f8e5m2 = 11,
};
inline constexpr int kDataTypes = 12;

enum class Operation : std::uint8_t { sum = 0, prod = 1, max = 2, min = 3, avg = 4 };
inline constexpr int kOperations = 5;

// What the bytes of an operand are. A schedule says it for every place it reads or writes.
//   raw      elements as the user gave them
//   partial  accumulation type: wider where the type needs it, before the final scaling and rounding
//   result   elements of the user's type, scaled and rounded once
enum class Form : std::uint8_t { raw, partial, result };

// Bytes of one element in the user's type.
constexpr std::size_t bytesOf(DataType type) {
  switch (type) {
    case DataType::i8:
    case DataType::u8:
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      return 1;
    case DataType::f16:
    case DataType::bf16:
      return 2;
    case DataType::i32:
    case DataType::u32:
    case DataType::f32:
      return 4;
    case DataType::i64:
    case DataType::u64:
    case DataType::f64:
      return 8;
  }
  return 0;
}

// Bytes of one element in the accumulation type: 16- and 8-bit floats are added in f32, averages of integers
// in an integer wide enough for the exact sum (32, 64 or 128 bits), everything else in its own type.
constexpr std::size_t accumulationBytesOf(DataType type, Operation operation) {
  switch (type) {
    case DataType::f16:
    case DataType::bf16:
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      return 4;
    case DataType::i8:
    case DataType::u8:
      return operation == Operation::avg ? 4 : 1;
    case DataType::i32:
    case DataType::u32:
      return operation == Operation::avg ? 8 : 4;
    case DataType::i64:
    case DataType::u64:
      return operation == Operation::avg ? 16 : 8;
    case DataType::f32:
      return 4;
    case DataType::f64:
      return 8;
  }
  return 0;
}

constexpr std::size_t bytesOf(DataType type, Operation operation, Form form) {
  return form == Form::partial ? accumulationBytesOf(type, operation) : bytesOf(type);
}

constexpr bool isFloat(DataType type) {
  return type == DataType::f16 || type == DataType::f32 || type == DataType::f64 || type == DataType::bf16 ||
         type == DataType::f8e4m3 || type == DataType::f8e5m2;
}

constexpr const char* nameOf(DataType type) {
  constexpr const char* names[kDataTypes] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                             "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
  return names[static_cast<int>(type)];
}

constexpr const char* nameOf(Operation operation) {
  constexpr const char* names[kOperations] = {"sum", "prod", "max", "min", "avg"};
  return names[static_cast<int>(operation)];
}

}  // namespace tutti
