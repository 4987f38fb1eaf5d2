// The numbers of the internal enumerations are the public ones, so that the C boundary converts by a cast.
#include <gtest/gtest.h>
#include <tutti/tutti.h>

#include "base/number_types.h"
#include "base/status.h"

namespace tutti {
namespace {

static_assert(static_cast<int>(DataType::i8) == tuttiInt8 && static_cast<int>(DataType::u8) == tuttiUint8);
static_assert(static_cast<int>(DataType::i32) == tuttiInt32 &&
              static_cast<int>(DataType::u32) == tuttiUint32);
static_assert(static_cast<int>(DataType::i64) == tuttiInt64 &&
              static_cast<int>(DataType::u64) == tuttiUint64);
static_assert(static_cast<int>(DataType::f16) == tuttiFloat16 &&
              static_cast<int>(DataType::bf16) == tuttiBfloat16);
static_assert(static_cast<int>(DataType::f32) == tuttiFloat32 &&
              static_cast<int>(DataType::f64) == tuttiFloat64);
static_assert(static_cast<int>(DataType::f8e4m3) == tuttiFloat8e4m3);
static_assert(static_cast<int>(DataType::f8e5m2) == tuttiFloat8e5m2 && kDataTypes == tuttiFloat8e5m2 + 1);
static_assert(static_cast<int>(Operation::sum) == tuttiSum && static_cast<int>(Operation::prod) == tuttiProd);
static_assert(static_cast<int>(Operation::max) == tuttiMax && static_cast<int>(Operation::min) == tuttiMin);
static_assert(static_cast<int>(Operation::avg) == tuttiAvg && kOperations == tuttiAvg + 1);

TEST(Values, CodesAreTheResults) {
  EXPECT_EQ(static_cast<int>(Code::ok), tuttiSuccess);
  EXPECT_EQ(static_cast<int>(Code::deviceError), tuttiUnhandledDeviceError);
  EXPECT_EQ(static_cast<int>(Code::systemError), tuttiSystemError);
  EXPECT_EQ(static_cast<int>(Code::internalError), tuttiInternalError);
  EXPECT_EQ(static_cast<int>(Code::invalidArgument), tuttiInvalidArgument);
  EXPECT_EQ(static_cast<int>(Code::invalidUsage), tuttiInvalidUsage);
  EXPECT_EQ(static_cast<int>(Code::remoteError), tuttiRemoteError);
  EXPECT_EQ(static_cast<int>(Code::timeout), tuttiTimeout);
  EXPECT_EQ(static_cast<int>(Code::mismatch), tuttiMismatch);
  EXPECT_EQ(static_cast<int>(Code::broken), tuttiBroken);
  EXPECT_EQ(static_cast<int>(Code::notSupported), tuttiNotSupported);
}

}  // namespace
}  // namespace tutti
