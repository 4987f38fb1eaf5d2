// A host thread works on windows piece by piece: when the communicator breaks in between, it stops before the next
// piece and says so, and its operands have moved on in step until then.
#include "collectives/host_context.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace tutti {
namespace {

std::atomic<std::uint64_t> poison{0};
int calls = 0;
int poisonAfter = 0;
int streamed = 0;  // destinations

void countingKernel(const Reduction& reduction, const Source* sources, int nsources,
                    const Destination* destinations, int ndestinations, std::size_t count) {
  reduceCopy(reduction, sources, nsources, destinations, ndestinations, count);
  if (++calls == poisonAfter) poison = 1;
  for (int i = 0; i < ndestinations; ++i) streamed += destinations[i].streaming;
}

class Gated : public testing::Test {
 protected:
  Gated() {
    poison = 0;
    calls = 0;
    poisonAfter = 0;
    streamed = 0;
    std::iota(a_.begin(), a_.end(), 0);
    std::iota(b_.begin(), b_.end(), 7);
    context_.kernel = countingKernel;
    context_.gate = &gate_;
  }

  void add() {
    Source sources[] = {{a_.data(), Form::raw}, {b_.data(), Form::raw}};
    Destination destinations[] = {{sum_.data(), Form::result}, {again_.data(), Form::result}};
    context_.reduceCopy({DataType::i32, Operation::sum, 2}, sources, 2, destinations, 2, kCount);
  }

  static constexpr std::size_t kCount = (5 << 18) / 2 + 3;  // two pieces and a half, of i32
  std::vector<int> a_ = std::vector<int>(kCount), b_ = a_, sum_ = a_, again_ = a_;
  WindowUse use_;
  WindowGate gate_{use_, poison};
  HostContext context_;
};

TEST_F(Gated, WholeInPieces) {
  add();
  EXPECT_FALSE(context_.isAbandoned());
  EXPECT_EQ(calls, 3);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(sum_[i], static_cast<int>(2 * i + 7)) << i;
    ASSERT_EQ(again_[i], sum_[i]) << i;
  }
  EXPECT_EQ(use_.active.load(), 0u);
}

// Past the caches goes what is large, and only where nothing was read: all three pieces of `again`.
TEST_F(Gated, StreamsWhatIsLargeAndNotInPlace) {
  context_.streamFrom = 4 * kCount * sizeof(int);
  Source sources[] = {{a_.data(), Form::raw}, {b_.data(), Form::raw}};
  Destination destinations[] = {{b_.data(), Form::result}, {again_.data(), Form::result}};
  context_.reduceCopy({DataType::i32, Operation::sum, 2}, sources, 2, destinations, 2, kCount);
  EXPECT_EQ(streamed, 3);
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(b_[i], static_cast<int>(2 * i + 7)) << i;
    ASSERT_EQ(again_[i], b_[i]) << i;
  }
  context_.streamFrom += 1;
  add();
  EXPECT_EQ(streamed, 3);
}

TEST_F(Gated, StopsWhereTheCommunicatorBreaks) {
  poisonAfter = 2;
  add();
  EXPECT_TRUE(context_.isAbandoned());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(sum_[kCount - 1], 0);
  EXPECT_EQ(use_.active.load(), 0u);
}

TEST_F(Gated, NeverBeginsOnABrokenOne) {
  poison = 1;
  add();
  EXPECT_TRUE(context_.isAbandoned());
  EXPECT_EQ(calls, 0);
}

}  // namespace
}  // namespace tutti
