// The step body on seeded fibers: every algorithm, format and number of ranks, under many orders of what
// happens. A failure names its seed, and the same seed gives the same failure.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "coverage.h"
#include "expectations.h"

namespace tutti::emulation {
namespace {

constexpr std::uint64_t kSeeds = 12;

class EveryAlgorithm : public testing::TestWithParam<Case> {};

TEST_P(EveryAlgorithm, IsRightInEveryOrder) {
  std::size_t calls = 0;
  std::size_t interleaved = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Report report = expectClean(jobOf(GetParam(), seed), playOnFibers, seed);
    if (HasFailure()) return;
    for (std::uint64_t interleavings : report.played.interleavings) {
      ++calls;
      if (interleavings > 0) ++interleaved;
    }
  }
  // Under some tempers of the scheduler a short call is over before another rank has its turn.
  EXPECT_GT(interleaved * 2, calls) << "ranks have to be in a call at the same time";
}

INSTANTIATE_TEST_SUITE_P(Fibers, EveryAlgorithm, testing::ValuesIn(coverage({2, 3, 4, 5, 8})),
                         [](const auto& info) { return nameOf(info.param); });

class Mixture : public testing::TestWithParam<std::tuple<int, MailboxFormat>> {};

TEST_P(Mixture, OfAlgorithmsOnTheSameLinksIsRight) {
  const auto [nranks, format] = GetParam();
  for (std::uint64_t seed = 0; seed < 4 * kSeeds; ++seed) {
    expectClean(mixtureOf(nranks, format, seed), playOnFibers, seed);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Fibers, Mixture,
                         testing::Combine(testing::Values(2, 3, 4, 6), testing::ValuesIn(kFormats)),
                         [](const auto& info) {
                           return fmt::format("{}_{}", std::get<0>(info.param),
                                              nameOf(std::get<1>(info.param)));
                         });

Job ringOf(std::uint32_t nslots) {
  Job job;
  job.nranks = 4;
  job.nthreads = 2;
  job.links.nslots = nslots;
  job.calls = {{Collective::allReduce, Algorithm::ring, 12}};
  return job;
}

TEST(Scheduler, SameSeedGivesTheSameRun) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const Report first = expectClean(ringOf(2), playOnFibers, seed);
    const Report second = expectClean(ringOf(2), playOnFibers, seed);
    EXPECT_EQ(first.played.switches, second.played.switches);
    EXPECT_EQ(first.played.interleavings, second.played.interleavings);
  }
  EXPECT_NE(expectClean(ringOf(2), playOnFibers, 0).played.switches,
            expectClean(ringOf(2), playOnFibers, 4).played.switches);
}

// More threads than links, lines and elements.
TEST(WideBlock, IsRightInEveryOrder) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (MailboxFormat format : kFormats) {
      Job job;
      job.nranks = 4;
      job.nthreads = 16;
      job.workspace = seed % 2 == 0 ? Workspace::own : Workspace::shared;
      job.links.format = format;
      job.calls = {{Collective::allReduce, Algorithm::oneShot, 31},
                   {Collective::allGather, Algorithm::oneShot, 60}};
      if (format == MailboxFormat::slots)
        job.calls.push_back({Collective::allReduce, Algorithm::ring, 30, true});
      expectClean(job, playOnFibers, seed);
    }
  }
}

// A ring whose step takes and sends at once cannot run on one slot: each rank needs the next one's credit.
TEST(Scheduler, DeadlockIsAStallThatSaysWhoWaits) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    const Report report = play(ringOf(1), playOnFibers, seed, *tuttiEmulatedBody());
    EXPECT_NE(report.stall.find("rank 0 lane 0 thread 0 at step"), std::string::npos) << report.stall;
    EXPECT_TRUE(report.wrong.empty()) << report.wrong[0];
  }
}

TEST(Tag, AMessageOfAnotherCallIsNoticedAndNeverTaken) {
  for (MailboxFormat format : kFormats) {
    Job job;
    job.nranks = 3;
    job.nthreads = 2;
    job.links.format = format;
    job.calls = {{Collective::allReduce, Algorithm::oneShot, 5},
                 {Collective::allReduce, Algorithm::oneShot, 5}};
    job.strangeRank = 1;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const Report report = expectClean(job, playOnFibers, seed);
      EXPECT_GT(report.played.suspicions, 0u);
    }
  }
}

}  // namespace
}  // namespace tutti::emulation
