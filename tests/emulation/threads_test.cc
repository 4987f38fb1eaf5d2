// The step body on real threads: fewer jobs than on fibers and none of them repeatable, but here time is real
// and threads truly run at once.
#include <gtest/gtest.h>

#include "coverage.h"
#include "expectations.h"

namespace tutti::emulation {
namespace {

class EveryAlgorithm : public testing::TestWithParam<Case> {};

TEST_P(EveryAlgorithm, IsRightOnThreads) {
  std::uint64_t together = 0;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const Report report = expectClean(jobOf(GetParam(), seed), playOnThreads, seed);
    if (HasFailure()) return;
    for (std::uint64_t interleavings : report.played.interleavings) together += interleavings;
  }
  EXPECT_GT(together, 0u) << "no two ranks were ever in a call at the same time";
}

INSTANTIATE_TEST_SUITE_P(Threads, EveryAlgorithm, testing::ValuesIn(coverage({3, 4})),
                         [](const auto& info) { return nameOf(info.param); });

TEST(Threads, MixtureOfAlgorithmsOnTheSameLinksIsRight) {
  for (MailboxFormat format : kFormats) {
    for (std::uint64_t seed = 0; seed < 6; ++seed)
      expectClean(mixtureOf(3, format, seed), playOnThreads, seed);
  }
}

}  // namespace
}  // namespace tutti::emulation
