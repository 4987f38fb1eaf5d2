// bench/common/number: the bytes of whole numbers in every type, against known codes and the compiler's own
// types.
#include "common/number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace tutti::bench {
namespace {

std::uint64_t bitsOf(tuttiDataType_t type, long value) {
  unsigned char element[kLargestElement] = {};
  encode(type, value, element);
  std::uint64_t bits = 0;
  std::memcpy(&bits, element, bytesOf(type));
  return bits;
}

TEST(Number, KnownCodes) {
  EXPECT_EQ(bitsOf(tuttiFloat16, 1), 0x3c00u);
  EXPECT_EQ(bitsOf(tuttiFloat16, -2048), 0xe800u);
  EXPECT_EQ(bitsOf(tuttiBfloat16, 3), 0x4040u);
  EXPECT_EQ(bitsOf(tuttiFloat8e4m3, 1), 0x38u);
  EXPECT_EQ(bitsOf(tuttiFloat8e4m3, 448), 0x7eu);
  EXPECT_EQ(bitsOf(tuttiFloat8e4m3, -16), 0xd8u);
  EXPECT_EQ(bitsOf(tuttiFloat8e5m2, 1), 0x3cu);
  EXPECT_EQ(bitsOf(tuttiFloat8e5m2, 57344), 0x7bu);
  EXPECT_EQ(bitsOf(tuttiInt8, -1), 0xffu);
  EXPECT_EQ(bitsOf(tuttiInt64, -1), ~std::uint64_t{0});
}

TEST(Number, ZeroIsPositive) {
  for (tuttiDataType_t type : allTypes()) EXPECT_EQ(bitsOf(type, 0), 0u) << typeName(type);
}

TEST(Number, WideFloatsEqualTheCompilers) {
  for (long value : {1L, -1L, 2L, 3L, 1000003L, -(1L << 20), (1L << 24) - 1}) {
    const float single = static_cast<float>(value);
    const double twice = static_cast<double>(value);
    std::uint32_t singleBits;
    std::uint64_t twiceBits;
    std::memcpy(&singleBits, &single, sizeof(single));
    std::memcpy(&twiceBits, &twice, sizeof(twice));
    EXPECT_EQ(bitsOf(tuttiFloat32, value), singleBits);
    EXPECT_EQ(bitsOf(tuttiFloat64, value), twiceBits);
  }
}

TEST(Number, EveryExactNumberIsShownAsItself) {
  for (tuttiDataType_t type : allTypes()) {
    const long most = std::min(largestExact(type), 5000L);
    for (long value = isUnsigned(type) ? 0 : -most; value <= most; value++) {
      unsigned char element[kLargestElement];
      encode(type, value, element);
      ASSERT_EQ(std::strtod(describe(type, element).c_str(), nullptr), static_cast<double>(value))
          << typeName(type);
    }
  }
}

TEST(Number, SpecialCodesAreNamed) {
  const unsigned char nan[] = {0x7f};
  EXPECT_EQ(describe(tuttiFloat8e4m3, nan), "nan (0x7f)");
  const unsigned char infinity[] = {0x7c};
  EXPECT_EQ(describe(tuttiFloat8e5m2, infinity), "inf (0x7c)");
  const unsigned char tiny[] = {0x01};
  EXPECT_EQ(describe(tuttiFloat8e4m3, tiny), "0.001953125 (0x01)");
}

TEST(Number, NamesLeadBack) {
  for (tuttiDataType_t type : allTypes()) EXPECT_EQ(typeNamed(typeName(type)), type);
  for (tuttiRedOp_t op : allOperations()) EXPECT_EQ(operationNamed(operationName(op)), op);
  EXPECT_FALSE(typeNamed("float16"));
  EXPECT_FALSE(operationNamed("median"));
}

}  // namespace
}  // namespace tutti::bench
