// The matrix that a GPU is to pass, passed by emulated blocks; and what it says of blocks that err.
#include "tests/gpu/matrix.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "tests/gpu/emulated_blocks.h"
#include "tests/gpu/host_memory.h"

namespace tutti::cuda {
namespace {

using Mistake = std::function<void(const std::vector<PlacedCall>&, std::byte* memory)>;

class EmulatedTarget : public MatrixTarget {
 public:
  explicit EmulatedTarget(Mistake mistake = {}, unsigned mostBlocks = 1000)
      : mistake_(std::move(mistake)), mostBlocks_(mostBlocks) {}

  std::byte* host() override { return memory_.data(); }
  std::byte* device() override { return host(); }
  std::size_t capacity() const override { return kBytes; }
  unsigned mostBlocks() const override { return mostBlocks_; }
  MatrixRun run(std::size_t used, const std::vector<PlacedCall>& calls) override {
    EXPECT_LE(used, kBytes);
    const emulation::Played played = runEmulated(launchesOf(calls), {4, seed_++});
    if (mistake_) mistake_(calls, host());
    return {calls.size(), played.stalled ? "stalled" : played.suspicions != 0 ? "suspicious" : ""};
  }

 private:
  static constexpr std::size_t kBytes = 16 << 20;
  HostMemory memory_{kBytes};
  Mistake mistake_;
  unsigned mostBlocks_;
  std::uint64_t seed_ = 0;
};

MatrixResult runEmulatedMatrix(const MatrixExtent& extent, const Mistake& mistake = {}) {
  return runMatrix(extent, 1, [&] { return std::make_unique<EmulatedTarget>(mistake); });
}

void expectRight(const MatrixResult& result) {
  EXPECT_EQ(result.wrong, 0u);
  for (const std::string& fault : result.faults) ADD_FAILURE() << fault;
  EXPECT_GT(result.callsAsWords, 0u);
  EXPECT_GT(result.calls, 4 * result.callsAsWords / 3);
}

TEST(Matrix, TwoRanks) {
  expectRight(runEmulatedMatrix({{2}, {7}, {1023}, {5003}}));
}
TEST(Matrix, ThreeRanks) {
  expectRight(runEmulatedMatrix({{3}, {}, {1, 131}, {}}));
}
TEST(Matrix, FourRanks) {
  expectRight(runEmulatedMatrix({{4}, {}, {1, 131}, {5003}}));
}
TEST(Matrix, EightRanks) {
  expectRight(runEmulatedMatrix({{8}, {}, {7}, {}}));
}

// Each mistake is made in one call of a batch.
class Mistakes : public testing::Test {
 protected:
  static MatrixResult with(const Mistake& mistake) {
    return runEmulatedMatrix({{2}, {}, {7}, {}}, [&, first = true](const auto& calls, auto* memory) mutable {
      if (std::exchange(first, false)) mistake(calls, memory);
    });
  }
  static std::byte* writable(const std::byte* data) { return const_cast<std::byte*>(data); }
};

TEST_F(Mistakes, OneBitOfAnOutput) {
  const MatrixResult result =
      with([](const auto& calls, auto*) { *writable(calls.back().outputs[1]) ^= std::byte{1}; });
  EXPECT_EQ(result.wrong, 1u);
  ASSERT_EQ(result.faults.size(), 1u);
  // An all-gather of 4 bytes from each of two ranks.
  EXPECT_NE(result.faults[0].find("rank 1, the output: element 0 is "), std::string::npos)
      << result.faults[0];
  EXPECT_NE(result.faults[0].find("; 1 of 8 elements differ"), std::string::npos) << result.faults[0];
}

TEST_F(Mistakes, AnInputThatWasWritten) {
  const MatrixResult result = with([](const auto& calls, auto*) {
    for (const PlacedCall& placed : calls) {
      if (!placed.call.inPlace && placed.buffers[0].bytes != 0) {
        *writable(placed.buffers[0].host) ^= std::byte{1};
        break;
      }
    }
  });
  EXPECT_EQ(result.wrong, 1u);
}

TEST_F(Mistakes, AByteBetweenTheBuffers) {
  const MatrixResult result = with([](const auto&, auto* memory) { memory[0] ^= std::byte{1}; });
  EXPECT_EQ(result.wrong, 1u);
  EXPECT_EQ(result.faults,
            std::vector<std::string>{"2 ranks, i8 sum: bytes between the buffers were written"});
}

TEST_F(Mistakes, ALinkThatCountsWrongly) {
  const MatrixResult result = with([](const auto& calls, auto*) { ++calls.front().lanes[0].ends[0]->bytes; });
  EXPECT_EQ(result.wrong, 1u);
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_EQ(result.faults[0].find("2 ranks, i8 sum: link 0->1 #0: "), 0u) << result.faults[0];
}

TEST_F(Mistakes, ALaneThatDidNotEnd) {
  const MatrixResult result = with([](const auto& calls, auto*) { --calls.front().outcomes[0].calls; });
  EXPECT_EQ(result.wrong, 1u);
  EXPECT_EQ(result.nbroken, 1u);
}

TEST_F(Mistakes, ALaneThatMetAMessageOfAnotherCall) {
  const MatrixResult result =
      with([](const auto& calls, auto*) { calls.front().outcomes[0].suspicious = true; });
  EXPECT_EQ(result.wrong, 1u);
  ASSERT_EQ(result.faults.size(), 1u);
  EXPECT_NE(result.faults[0].find("met a message of another call"), std::string::npos) << result.faults[0];
}

// Of calls whose results cannot be seen only that is told.
class UnreadableTarget : public EmulatedTarget {
 public:
  MatrixRun run(std::size_t, const std::vector<PlacedCall>& calls) override {
    return {calls.size(), "copy from the device: gone", false};
  }
};

TEST(Matrix, SaysOnlyThatNothingCameBack) {
  const MatrixResult result =
      runMatrix({{2}, {}, {7}, {}}, 1, [] { return std::make_unique<UnreadableTarget>(); });
  EXPECT_EQ(result.nbroken, kMostBrokenBatches);
  EXPECT_EQ(result.wrong, kMostBrokenBatches);
  EXPECT_EQ(result.faults, std::vector<std::string>(kMostBrokenBatches, "copy from the device: gone"));
}

// A target on which every call hangs is left alone soon.
class HangingTarget : public EmulatedTarget {
 public:
  MatrixRun run(std::size_t, const std::vector<PlacedCall>&) override { return {1, ""}; }
};

TEST(Matrix, EndsAfterAFewHangs) {
  const MatrixResult result =
      runMatrix({{2}, {}, {7}, {}}, 1, [] { return std::make_unique<HangingTarget>(); });
  EXPECT_EQ(result.nbroken, kMostBrokenBatches);
  EXPECT_EQ(result.calls, kMostBrokenBatches);
  EXPECT_EQ(result.wrong, kMostBrokenBatches);
  ASSERT_FALSE(result.faults.empty());
  EXPECT_NE(result.faults[0].find("waits at step 0"), std::string::npos) << result.faults[0];
}

TEST(Matrix, LeavesOutWhatHasNoRoom) {
  const MatrixResult result =
      runMatrix({{4}, {}, {7}, {}}, 1, [] { return std::make_unique<EmulatedTarget>(Mistake(), 4); });
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_GT(result.calls, 0u);
  EXPECT_GT(result.leftOut, 0u);
}

TEST(Matrix, DoesNothingWithoutATarget) {
  const MatrixResult result = runMatrix({{2}, {}, {7}, {}}, 2, [] { return nullptr; });
  EXPECT_EQ(result.calls, 0u);
}

}  // namespace
}  // namespace tutti::cuda
