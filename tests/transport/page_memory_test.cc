// Pages from the operating system: whole, zero, owned by one object, refused with a reason.
#include "transport/page_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tutti {
namespace {

TEST(PageMemory, IsWholeZeroPages) {
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4096}, std::size_t{4097}, std::size_t{5} << 20}) {
    const auto memory = PageMemory::allocate(bytes);
    ASSERT_TRUE(memory.isOk());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.value().data()) % 4096, 0u);
    EXPECT_GE(memory.value().bytes(), bytes);
    EXPECT_LT(memory.value().bytes(), bytes + 4096);
    EXPECT_EQ(memory.value().data()[0], std::byte{0});
    EXPECT_EQ(memory.value().data()[bytes - 1], std::byte{0});
    memory.value().data()[bytes - 1] = std::byte{1};
  }
}

TEST(PageMemory, OfNothingIsNothing) {
  const auto memory = PageMemory::allocate(0);
  ASSERT_TRUE(memory.isOk());
  EXPECT_EQ(memory.value().data(), nullptr);
}

TEST(PageMemory, Moves) {
  PageMemory first = std::move(PageMemory::allocate(100)).value();
  std::byte* const data = first.data();
  PageMemory second = std::move(first);
  EXPECT_EQ(second.data(), data);
  PageMemory third;
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  third.data()[99] = std::byte{1};
}

TEST(PageMemory, RefusesWhatThereIsNot) {
  for (const std::size_t bytes : {SIZE_MAX, SIZE_MAX - 4095, SIZE_MAX / 2, std::size_t{1} << 55}) {
    const auto memory = PageMemory::allocate(bytes);
    ASSERT_FALSE(memory.isOk());
    EXPECT_EQ(memory.status().code(), Code::systemError);
    EXPECT_NE(memory.status().message().find(std::to_string(bytes)), std::string::npos);
  }
}

}  // namespace
}  // namespace tutti
