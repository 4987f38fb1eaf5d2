// bench/common/layout and verify: right data passes, and one wrong byte anywhere in a rank's memory, guard
// zones included, is found and named.
#include "common/verify.h"
#include "common/layout.h"

#include "common/number.h"

#include <gtest/gtest.h>

namespace tutti::bench {
namespace {

constexpr int kRanks = 3;
constexpr tuttiDataType_t kType = tuttiInt32;

struct Memory {
  Buffer send, recv;
};

Memory memoryFor(const Layout& layout) {
  std::string error;
  return {Buffer::make(sendBufferElements(layout) * 4, 0, false, &error),
          Buffer::make(recvBufferElements(layout) * 4, 8, false, &error)};
}

WrongElements checkAll(const Memory& memory, const Layout& layout, const Content& content) {
  WrongElements wrong;
  check(memory.recv, kType, content.recv, recvBufferElements(layout), &wrong);
  check(memory.send, kType, content.send, sendBufferElements(layout), &wrong);
  return wrong;
}

Pattern patternFor(Kind kind) {
  return hasOperation(kind) ? reducedPattern(kRanks, kType, tuttiSum, 5) : copiedPattern(kRanks, kType, 5);
}

// Every kind, placement, rank and root, with more elements than one period.
template <class Use>
void forEachCase(Use use) {
  for (Kind kind : {Kind::allReduce, Kind::broadcast, Kind::reduce, Kind::reduceScatter, Kind::allGather}) {
    for (Placement placement : {Placement::outOfPlace, Placement::inPlace}) {
      for (std::size_t count : {std::size_t{0}, std::size_t{1}, kPeriod + 9}) {
        for (int root = 0; root < (hasRoot(kind) ? kRanks : 1); root++) {
          for (int rank = 0; rank < kRanks; rank++) use(Layout{kind, placement, count, kRanks, root}, rank);
        }
      }
    }
  }
}

TEST(Verify, RightDataPasses) {
  forEachCase([](const Layout& layout, int rank) {
    const Pattern pattern = patternFor(layout.kind);
    Memory memory = memoryFor(layout);
    const Content after = contentAfter(layout, pattern, rank);
    fill(memory.recv, kType, after.recv);
    fill(memory.send, kType, after.send);
    EXPECT_EQ(checkAll(memory, layout, after).total(), 0u);
  });
}

TEST(Verify, AfterCoversEveryElement) {
  forEachCase([](const Layout& layout, int rank) {
    const Pattern pattern = patternFor(layout.kind);
    std::vector<int> seen(recvBufferElements(layout));
    for (const Piece& piece : contentAfter(layout, pattern, rank).recv) {
      for (std::size_t i = 0; i < piece.count; i++) seen[piece.at + i]++;
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<long>(seen.size()));
  });
}

TEST(Verify, OneWrongElementIsNamed) {
  const Layout layout{Kind::allGather, Placement::outOfPlace, kPeriod + 9, kRanks, 0};
  const Pattern pattern = patternFor(layout.kind);
  const Content after = contentAfter(layout, pattern, 1);
  Memory memory = memoryFor(layout);
  fill(memory.recv, kType, after.recv);
  fill(memory.send, kType, after.send);
  for (std::size_t index : {std::size_t{0}, kPeriod - 1, kPeriod, 2 * kPeriod + 20, 3 * (kPeriod + 9) - 1}) {
    memory.recv.data()[index * 4 + 3] ^= 0x80;
    const WrongElements wrong = checkAll(memory, layout, after);
    memory.recv.data()[index * 4 + 3] ^= 0x80;
    ASSERT_EQ(wrong.count, 1u);
    EXPECT_EQ(wrong.first, index);
    EXPECT_EQ(wrong.last, index);
    ASSERT_EQ(wrong.examples.size(), 1u);
    EXPECT_EQ(wrong.examples[0].index, index);
    EXPECT_STREQ(wrong.examples[0].buffer, "recv");
  }
  memory.send.data()[5 * 4] ^= 1;
  const WrongElements wrong = checkAll(memory, layout, after);
  ASSERT_EQ(wrong.count, 1u);
  EXPECT_STREQ(wrong.examples[0].buffer, "send");
  EXPECT_EQ(wrong.examples[0].index, 5u);
}

TEST(Verify, GuardZonesAreWatched) {
  const Layout layout{Kind::allReduce, Placement::inPlace, 10, kRanks, 0};
  const Pattern pattern = patternFor(layout.kind);
  const Content after = contentAfter(layout, pattern, 0);
  Memory memory = memoryFor(layout);
  fill(memory.recv, kType, after.recv);
  memory.recv.data()[40] ^= 1;
  memory.recv.data()[-1] ^= 1;
  const WrongElements wrong = checkAll(memory, layout, after);
  EXPECT_EQ(wrong.count, 0u);
  EXPECT_EQ(wrong.guardBytes, 2u);
  EXPECT_NE(describe(wrong, 0, "all_reduce").find("2 bytes outside"), std::string::npos);
}

TEST(Verify, DoingNothingIsWrong) {
  for (Kind kind : {Kind::allReduce, Kind::broadcast, Kind::reduce, Kind::reduceScatter, Kind::allGather}) {
    for (Placement placement : {Placement::outOfPlace, Placement::inPlace}) {
      const Layout layout{kind, placement, 100, kRanks, 1};
      const Pattern pattern = patternFor(kind);
      const int rank = kind == Kind::broadcast ? 0 : 1;  // one that has to receive something
      Memory memory = memoryFor(layout);
      const Content before = contentBefore(layout, pattern, rank);
      fill(memory.recv, kType, before.recv);
      fill(memory.send, kType, before.send);
      EXPECT_GT(checkAll(memory, layout, contentAfter(layout, pattern, rank)).count, 60u);
    }
  }
}

}  // namespace
}  // namespace tutti::bench
