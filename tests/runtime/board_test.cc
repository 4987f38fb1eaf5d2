// A board shows every call as it was made, or not at all, while its owner goes on writing.
#include "runtime/board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tutti {
namespace {

// Fields that follow from the number, so that a torn line is noticed.
CallDescriptor callOf(std::uint64_t number) {
  CallDescriptor call;
  call.collective = static_cast<Collective>(number % kCollectives);
  call.type = static_cast<DataType>(number % kDataTypes);
  call.operation = static_cast<Operation>(number % kOperations);
  call.root = -static_cast<std::int32_t>(number % 1000);
  call.registrations = static_cast<std::uint32_t>(number * 2654435761u);
  call.count = number * 0x123456789abcdu;
  call.sequence = number;
  return call;
}

TEST(Board, ShowsTheLastCalls) {
  Board board;
  EXPECT_EQ(board.calls(), 0u);
  EXPECT_FALSE(board.read(0).has_value());
  EXPECT_FALSE(board.read(Board::kLines).has_value());
  constexpr std::uint64_t kCalls = 3 * Board::kLines + 5;
  for (std::uint64_t number = 0; number < kCalls; ++number) {
    board.announce(callOf(number));
    EXPECT_EQ(board.calls(), number + 1);
  }
  for (std::uint64_t number = 0; number < kCalls + Board::kLines; ++number) {
    const auto call = board.read(number);
    const bool kept = number < kCalls && number >= kCalls - Board::kLines;
    ASSERT_EQ(call.has_value(), kept) << number;
    if (kept) {
      EXPECT_EQ(*call, callOf(number));
    }
  }
}

TEST(Board, Leave) {
  Board board;
  EXPECT_FALSE(board.hasLeft());
  board.announce(callOf(0));
  board.leave();
  EXPECT_TRUE(board.hasLeft());
  EXPECT_EQ(board.calls(), 1u);
}

// The line that is being written is the one to read: it must look old or new, never half.
TEST(Board, IsReadWhileItIsWritten) {
  Board board;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (std::uint64_t number = 0; !stop; ++number) board.announce(callOf(number));
  });
  std::uint64_t torn = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < until) {
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t number = board.calls();
      const auto call = board.read(number);
      torn += call && *call != callOf(number);
    }
  }
  stop = true;
  writer.join();
  EXPECT_EQ(torn, 0u);
  const std::uint64_t last = board.calls() - 1;
  EXPECT_EQ(board.read(last), callOf(last));
}

}  // namespace
}  // namespace tutti
