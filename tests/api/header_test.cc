// The C header seen from C++, and the run-time half of header_test.c from both languages. The values
// themselves are asserted in header_test.c, which this file includes to have them checked by a C++ compiler
// as well.
#include "header_test.c"

#include <gtest/gtest.h>

extern "C" int headerTestFromC(void);

TEST(Header, InitMacrosFromC) {
  EXPECT_EQ(headerTestFromC(), 0);
}
TEST(Header, InitMacrosFromCxx) {
  EXPECT_EQ(headerTestFromCxx(), 0);
}
