// The names that users force algorithms by, and the choice: always one that serves, the same for the same
// facts, with a reason.
#include "collectives/choose.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti {
namespace {

constexpr std::uint64_t kLineBytes = 8192;
constexpr std::uint64_t kSlotBytes = 65536;

PlanTable tableOf(const std::string& forced) {
  return {ForcedAlgorithms::parse(forced).value(), kLineBytes, kSlotBytes};
}

TEST(ForcedAlgorithms, Parse) {
  const auto nothing = ForcedAlgorithms::parse("");
  ASSERT_TRUE(nothing.isOk());
  const auto ring = ForcedAlgorithms::parse("ring");
  ASSERT_TRUE(ring.isOk());
  for (int c = 0; c < kCollectives; ++c) {
    EXPECT_FALSE(nothing.value().of(static_cast<Collective>(c)).has_value());
    EXPECT_EQ(ring.value().of(static_cast<Collective>(c)), Algorithm::ring);
  }
  const auto list = ForcedAlgorithms::parse("chain,allreduce=ring,broadcast=binomial,allreduce=twoshot");
  ASSERT_TRUE(list.isOk());
  EXPECT_EQ(list.value().of(Collective::allReduce), Algorithm::twoShot);  // the last one counts
  EXPECT_EQ(list.value().of(Collective::broadcast), Algorithm::binomial);
  EXPECT_EQ(list.value().of(Collective::reduce), Algorithm::chain);
}

TEST(ForcedAlgorithms, RefuseWhatIsNone) {
  for (const char* text : {"rings", "Ring", " ring", "ring ", "none", "allreduce=", "=ring", "allreduce=none",
                           "=", "allreduce", "all-reduce=ring", "allreduce==ring", "allreduce=ring=ring",
                           ",ring", "ring,,chain", "allreduce=ring;broadcast=chain"}) {
    const auto forced = ForcedAlgorithms::parse(text);
    ASSERT_FALSE(forced.isOk()) << text;
    EXPECT_EQ(forced.status().code(), Code::invalidArgument);
    EXPECT_NE(forced.status().message().find("known are"), std::string::npos) << forced.status().message();
    EXPECT_EQ(forced.status().message().find("known are none"), std::string::npos)
        << "'none' cannot be forced";
  }
}

TEST(ForcedAlgorithms, NamesGoBothWays) {
  for (int a = 1; a < kAlgorithms; ++a) {
    const auto algorithm = static_cast<Algorithm>(a);
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      const auto forced =
          ForcedAlgorithms::parse(std::string(settingNameOf(collective)) + "=" + settingNameOf(algorithm));
      ASSERT_TRUE(forced.isOk());
      EXPECT_EQ(forced.value().of(collective), algorithm);
    }
  }
}

TEST(Choose, AlwaysServesAndSaysWhy) {
  for (int c = 0; c < kCollectives; ++c) {
    const auto collective = static_cast<Collective>(c);
    for (const int nranks : {1, 2, 3, 4, 5, 8, 9, 16, 17, 64}) {
      for (std::uint64_t count = 0; count < (1u << 24); count = count * 3 + 1) {
        for (const DataType type : {DataType::u8, DataType::f16, DataType::f64}) {
          for (const bool windows : {false, true}) {
            if (windows && (collective == Collective::barrier || nranks == 1)) continue;
            const CallFacts facts{collective, type, Operation::sum, count, nranks, windows};
            const auto choice = choose(tableOf(""), facts);
            ASSERT_TRUE(choice.isOk());
            ASSERT_TRUE(serves(choice.value().algorithm, collective, nranks));
            ASSERT_STRNE(choice.value().reason, "");
            ASSERT_EQ(choice.value().algorithm == Algorithm::twoShotWindow, windows);
            const Schedule schedule =
                buildSchedule({collective, choice.value().algorithm, 0, nranks, 0, choice.value().channels});
            if (choice.value().format == MailboxFormat::lines) {
              ASSERT_TRUE(schedule.closed) << "lines carry closed schedules only";
              ASSERT_TRUE(windows || count * bytesOf(type) <= kLineBytes);
            }
          }
        }
      }
    }
  }
}

TEST(Choose, ForcedIsTakenOrRefused) {
  for (int a = 1; a < kAlgorithms; ++a) {
    const auto algorithm = static_cast<Algorithm>(a);
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      for (const std::uint64_t count : {0u, 10u, 100'000u}) {
        CallFacts facts{
            collective, DataType::f32, Operation::sum, count, 4, algorithm == Algorithm::twoShotWindow};
        const auto choice = choose(tableOf(settingNameOf(algorithm)), facts);
        ASSERT_EQ(choice.isOk(), serves(algorithm, collective, 4));
        if (choice.isOk()) {
          EXPECT_EQ(choice.value().algorithm, algorithm);
          EXPECT_STREQ(choice.value().reason, "forced");
        } else {
          EXPECT_EQ(choice.status().code(), Code::invalidArgument);
          EXPECT_NE(choice.status().message().find(settingNameOf(algorithm)), std::string::npos);
        }
      }
    }
  }
}

TEST(Choose, ForcedWindowsNeedRegisteredMemory) {
  const CallFacts facts{Collective::allReduce, DataType::f32, Operation::sum, 10, 4, false};
  EXPECT_EQ(choose(tableOf("twoshotwindow"), facts).status().code(), Code::invalidArgument);
}

TEST(Choose, OneRankNeedsNoAlgorithm) {
  const CallFacts facts{Collective::broadcast, DataType::f32, Operation::sum, 10, 1, false};
  const auto choice = choose(tableOf("ring"), facts);
  ASSERT_TRUE(choice.isOk());
  EXPECT_EQ(choice.value().algorithm, Algorithm::none);
}

// Partial sums that travel are wider than the elements.
TEST(Choose, LinesAreLeftWhenPartialsDoNotFit) {
  CallFacts facts{Collective::allReduce, DataType::f16, Operation::sum, kLineBytes / 4, 4, false};
  EXPECT_EQ(choose(tableOf("recursivedoubling"), facts).value().format, MailboxFormat::lines);
  ++facts.count;
  EXPECT_EQ(choose(tableOf("recursivedoubling"), facts).value().format, MailboxFormat::slots);
  facts.count = kLineBytes / 2;
  EXPECT_EQ(choose(tableOf("oneshot"), facts).value().format, MailboxFormat::lines);
  ++facts.count;
  EXPECT_EQ(choose(tableOf("oneshot"), facts).value().format, MailboxFormat::slots);
}

TEST(WantsWindows, ForLargeCallsThatCanUseThem) {
  CallFacts facts{Collective::allReduce, DataType::u8, Operation::sum, 1 << 20, 4, false};
  EXPECT_TRUE(wantsWindows(tableOf(""), facts));
  EXPECT_FALSE(wantsWindows(tableOf("ring"), facts));
  EXPECT_TRUE(wantsWindows(tableOf("twoshotwindow"), facts));
  facts.count = 1;
  EXPECT_FALSE(wantsWindows(tableOf(""), facts));
  EXPECT_TRUE(wantsWindows(tableOf("twoshotwindow"), facts));
  facts.nranks = 1;
  EXPECT_FALSE(wantsWindows(tableOf("twoshotwindow"), facts));
  facts = {Collective::barrier, DataType::u8, Operation::sum, 0, 4, false};
  EXPECT_FALSE(wantsWindows(tableOf(""), facts));
}

}  // namespace
}  // namespace tutti
