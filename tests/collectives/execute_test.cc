// The executor over real in-process links: what moves over each link is what the checker computes from the
// same schedules, counters may pass their wrap, and a call that cannot be served leaves everything as it was.
#include "collectives/execute.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "collectives/checker.h"
#include "kernels/float_environment.h"
#include "schedule_set.h"
#include "transport/inprocess/links.h"

namespace tutti {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kMostRanks = 5;
#else
constexpr int kMostRanks = 8;
#endif

struct Rank {
  Rank(int rank, int nranks, const std::shared_ptr<InProcessHub>& hub, const PlanTable& table, WindowUse& use,
       const std::atomic<std::uint64_t>& poison, std::span<const std::span<std::byte>> windows)
      : links(hub, rank),
        planner(rank, nranks, links),
        execution(rank, nranks, planner, table, WindowGate(use, poison), {}, windows) {}

  InProcessLinks links;
  Planner planner;
  Execution execution;
  CollectiveCall call;  // that was prepared
  std::vector<std::byte> input;
  std::vector<std::byte> output;
};

// Ranks of one communicator, all polled by one thread.
class Job {
 public:
  // `windowBytes`: how far the memory reaches that the windows of a rank may lie in, which begins near address 0.
  Job(int nranks, const std::string& forced, const LinkOptions& options = {},
      std::size_t windowBytes = ~std::size_t{0} >> 1)
      : hub(std::make_shared<InProcessHub>(options)),
        table_{ForcedAlgorithms::parse(forced).value(), options.lineBytes, options.slotBytes},
        uses_(static_cast<std::size_t>(nranks)) {
    // As if the windows of each rank began somewhere else.
    std::vector<std::span<std::byte>> windows;
    for (std::uintptr_t begin = 1; windows.size() < static_cast<std::size_t>(nranks); ++begin)
      windows.emplace_back(reinterpret_cast<std::byte*>(begin), windowBytes);
    for (int rank = 0; rank < nranks; ++rank)
      ranks.push_back(std::make_unique<Rank>(rank, nranks, hub, table_, uses_[static_cast<std::size_t>(rank)],
                                             poison_, windows));
  }

  int nranks() const { return static_cast<int>(ranks.size()); }

  // Prepares a call on buffers that hold `value(rank, i)`, bytes.
  Status prepare(CallDescriptor call, bool windows) {
    call.sequence = sequence_;
    Status first;
    for (int rank = 0; rank < nranks(); ++rank) {
      Rank& one = *ranks[static_cast<std::size_t>(rank)];
      const std::size_t block = call.count * bytesOf(call.type);
      one.input.assign(block * static_cast<std::size_t>(inputSegmentsOf(call.collective, nranks())), {});
      for (std::size_t i = 0; i < one.input.size(); ++i) one.input[i] = value(rank, i);
      one.output.assign(block * static_cast<std::size_t>(outputSegmentsOf(call.collective, nranks())),
                        std::byte{0xee});
      CollectiveCall& whole = one.call;
      whole = CollectiveCall();
      whole.descriptor = call;
      whole.input = one.input.data();
      whole.output = one.output.data();
      whole.registered = whole.exchange = windows;
      Status status = one.execution.prepare(whole);
      if (!status.isOk() && first.isOk()) first = status;
    }
    return first;
  }

  // Runs what was prepared; false if it stalls.
  bool run() {
    struct Events {
      std::chrono::steady_clock::time_point until =
          std::chrono::steady_clock::now() + std::chrono::minutes(1);
      bool stalled = false;
      void progressed(std::size_t) {}
      bool finished(std::size_t) { return false; }
      bool idle(std::size_t) {
        stalled |= std::chrono::steady_clock::now() > until;
        return !stalled;
      }
      void rest() {}
    };
    ++sequence_;
    std::vector<Execution*> executions;
    for (auto& rank : ranks) {
      rank->execution.start(rank->call);
      executions.push_back(&rank->execution);
    }
    const FloatEnvironment environment;
    Events events;
    complete(executions, events);
    return !events.stalled;
  }

  static std::byte value(int rank, std::size_t i) {
    return static_cast<std::byte>((i * 7 + static_cast<std::size_t>(rank) * 13) % 5);
  }

  // Bytes of u8 sums, copied and added; empty if right.
  std::string wrong(const CallDescriptor& call) const {
    const auto n = static_cast<std::size_t>(nranks());
    for (std::size_t rank = 0; rank < n; ++rank) {
      const Rank& one = *ranks[rank];
      if (call.collective == Collective::barrier) continue;
      if (call.collective == Collective::reduce && static_cast<int>(rank) != call.root) continue;
      for (std::size_t i = 0; i < one.output.size(); ++i) {
        int wanted = 0;
        if (call.collective == Collective::broadcast) {
          wanted = static_cast<int>(value(call.root, i));
        } else if (call.collective == Collective::allGather) {
          wanted = static_cast<int>(value(static_cast<int>(i / call.count), i % call.count));
        } else {
          const std::size_t at = call.collective == Collective::reduceScatter ? rank * call.count + i : i;
          for (std::size_t peer = 0; peer < n; ++peer)
            wanted += static_cast<int>(value(static_cast<int>(peer), at));
        }
        if (static_cast<int>(one.output[i]) != wanted)
          return "rank " + std::to_string(rank) + ", element " + std::to_string(i);
      }
    }
    return "";
  }

  std::shared_ptr<InProcessHub> hub;
  std::vector<std::unique_ptr<Rank>> ranks;

 private:
  PlanTable table_;
  std::vector<WindowUse> uses_;
  std::atomic<std::uint64_t> poison_{0};
  std::uint64_t sequence_ = 0;
};

class EveryAlgorithm : public testing::TestWithParam<Served> {
 protected:
  Algorithm algorithm() const { return GetParam().algorithm; }
  Collective collective() const { return GetParam().collective; }
  bool windows() const { return algorithm() == Algorithm::twoShotWindow; }
  std::string forced() const { return settingNameOf(algorithm()); }
  std::vector<int> roots(int nranks) const {
    return isRooted(collective()) ? std::vector<int>{0, nranks - 1} : std::vector<int>{0};
  }
  std::vector<std::uint64_t> counts() const {
    return collective() == Collective::barrier ? std::vector<std::uint64_t>{0}
                                               : std::vector<std::uint64_t>{0, 1, 7, 1009, 20'011};
  }
};

// Steps, messages and bytes: counted by the lanes, counted at both ends of each link, computed by the
// checker.
TEST_P(EveryAlgorithm, MovesWhatTheCheckerComputes) {
  for (int nranks = 2; nranks <= kMostRanks; ++nranks) {
    for (const int root : roots(nranks)) {
      for (const std::uint64_t count : counts()) {
        for (const auto& [type, operation] :
             {std::pair(DataType::f32, Operation::sum), std::pair(DataType::f16, Operation::sum),
              std::pair(DataType::i8, Operation::avg)}) {
          LinkOptions options;
          options.slotBytes = 4096;  // many rounds
          Job job(nranks, forced(), options);
          CallDescriptor call;
          call.collective = collective();
          call.type = type;
          call.operation = reduces(collective()) ? operation : Operation::sum;
          call.root = root;
          call.count = count;
          SCOPED_TRACE(describe(call) + " over " + std::to_string(nranks) + " ranks");
          const Status status = job.prepare(call, windows());
          ASSERT_TRUE(status.isOk()) << status.message();
          ASSERT_TRUE(job.run());

          const ScheduleSet set{algorithm(), collective(), nranks, root,
                                job.ranks[0]->execution.choice().channels};
          const Cut cut = job.ranks[0]->execution.cut();
          const ScheduleChecker checker(set.build(), collective(), root);
          CheckOptions check;
          check.rounds = static_cast<int>(cut.rounds);
          const CheckReport report = checker.run(check);
          const auto links = linkBytes(checker.traffic(), cut, call.type, call.operation);

          std::vector<std::uint64_t> messages(static_cast<std::size_t>(nranks)), bytes = messages;
          for (const LinkBytes& link : links) {
            messages[static_cast<std::size_t>(link.from)] += link.messages;
            bytes[static_cast<std::size_t>(link.from)] += link.bytes;
            const MailboxFormat format = job.ranks[0]->execution.choice().format;
            for (const bool sends : {true, false}) {
              const MailboxEnd& end = *job.hub->open(link.from, link.to, link.channel, format, sends).value();
              // The exchange of windows uses the same lines: one message of 24 bytes more on each.
              const bool shared = windows() && link.channel == 0;
              EXPECT_EQ(end.messages, link.messages + (shared ? 1 : 0)) << link.from << " to " << link.to;
              EXPECT_EQ(end.bytes, link.bytes + (shared ? sizeof(WindowOffer) : 0));
            }
          }
          std::uint64_t windowBytes = 0;
          for (int rank = 0; rank < nranks; ++rank) {
            const auto index = static_cast<std::size_t>(rank);
            const Execution& execution = job.ranks[index]->execution;
            EXPECT_EQ(execution.cut().rounds, cut.rounds);
            EXPECT_EQ(execution.cut().roundElements, cut.roundElements);
            const CallCounts counts = execution.counts();
            EXPECT_EQ(counts.steps, static_cast<std::uint64_t>(report.stepsFired[index])) << "rank " << rank;
            EXPECT_EQ(counts.messages, messages[index]) << "rank " << rank;
            EXPECT_EQ(counts.bytes, bytes[index]) << "rank " << rank;
            windowBytes += execution.windowBytes();
          }
          const std::uint64_t block = count * bytesOf(type);
          const auto n = static_cast<std::uint64_t>(nranks);
          if (!windows()) {
            EXPECT_EQ(windowBytes, 0u);
          } else if (collective() == Collective::allReduce) {
            EXPECT_EQ(windowBytes, 2 * (n - 1) * block);
          } else if (collective() == Collective::reduceScatter || collective() == Collective::allGather) {
            EXPECT_EQ(windowBytes, n * (n - 1) * block);
          }
        }
      }
    }
  }
}

// Links whose messages are numbered from just below 2^32 on, and slots of a few elements.
TEST_P(EveryAlgorithm, CountersPassTheirWrap) {
  for (const int nranks : {2, 3, 5}) {
    for (const std::uint64_t before : {1u, 2u, 5u}) {
      LinkOptions options;
      options.firstMessage = (std::uint64_t{1} << 32) - before;
      options.slotBytes = 64;
      options.nslots = 3;
      options.lineBytes = 128;
      Job job(nranks, forced(), options);
      CallDescriptor call;
      call.collective = collective();
      call.type = DataType::u8;
      for (int repeat = 0; repeat < 12; ++repeat) {
        call.count =
            collective() == Collective::barrier ? 0 : static_cast<std::uint64_t>(repeat * repeat * 3);
        call.root = isRooted(collective()) ? repeat % nranks : 0;
        const Status status = job.prepare(call, windows());
        ASSERT_TRUE(status.isOk()) << status.message();
        ASSERT_TRUE(job.run()) << describe(call);
        ASSERT_EQ(job.wrong(call), "") << describe(call) << " over " << nranks << ", " << before;
      }
    }
  }
}

// Calls of every size one after another on the same links: lines, slots and lines again.
TEST_P(EveryAlgorithm, SizesMixOnTheSameLinks) {
  Job job(4, forced());
  CallDescriptor call;
  call.collective = collective();
  call.type = DataType::u8;
  for (const std::uint64_t count : {1u, 8192u, 0u, 8193u, 57u, 300'000u, 56u, 55u, 8191u, 3u}) {
    call.count = collective() == Collective::barrier ? 0 : count;
    call.root = isRooted(collective()) ? static_cast<int>(count % 4) : 0;
    const Status status = job.prepare(call, windows());
    ASSERT_TRUE(status.isOk()) << status.message();
    ASSERT_TRUE(job.run()) << describe(call);
    ASSERT_EQ(job.wrong(call), "") << describe(call);
  }
}

std::vector<Served> pairs() {
  std::vector<Served> pairs;
  for (const Served& pair : allServed()) {
    if (pair.algorithm != Algorithm::none) pairs.push_back(pair);
  }
  return pairs;
}

INSTANTIATE_TEST_SUITE_P(Pairs, EveryAlgorithm, testing::ValuesIn(pairs()), [](const auto& info) {
  std::string name = testNameOf(info.param);
  return name;
});

TEST(Execute, SlotsTooSmallForOneElementPerBlockAreRefusedOnEveryRank) {
  LinkOptions options;
  options.slotBytes = 16;  // halving sends half of 8 blocks at a time, of 8 bytes each
  Job job(8, "allreduce=halvingdoubling,barrier=oneshot", options);
  CallDescriptor call;
  call.type = DataType::i64;
  call.operation = Operation::avg;
  call.count = 100;
  for (auto& rank : job.ranks) {
    CollectiveCall one;
    one.descriptor = call;
    EXPECT_EQ(rank->execution.prepare(one).code(), Code::invalidArgument);
  }
  call = CallDescriptor();
  call.collective = Collective::barrier;
  ASSERT_TRUE(job.prepare(call, false).isOk());
  EXPECT_TRUE(job.run());
}

TEST(Execute, AFailedPrepareLeavesTheLastCall) {
  Job job(2, "allreduce=ring,broadcast=ring");
  CallDescriptor call;
  call.type = DataType::u8;
  call.count = 10;
  ASSERT_TRUE(job.prepare(call, false).isOk());
  ASSERT_TRUE(job.run());
  call.collective = Collective::broadcast;
  EXPECT_EQ(job.prepare(call, false).code(), Code::invalidArgument);
  const Execution& execution = job.ranks[0]->execution;
  EXPECT_EQ(execution.call().descriptor.collective, Collective::allReduce);
  EXPECT_EQ(execution.choice().algorithm, Algorithm::ring);
  ASSERT_NE(execution.plan(), nullptr);
}

// A thread with many ranks rests once for all of them, not once for each.
TEST(Execute, AThreadRestsWhenAllHaveStalled) {
  struct Events {
    const std::size_t kRest = 100;
    std::vector<std::size_t> asked;
    void progressed(std::size_t) {}
    bool finished(std::size_t) { return false; }
    bool idle(std::size_t i) {
      asked.push_back(i);
      return asked.size() <= 8 && i != 1;  // one is given up at once, the others after two rests
    }
    void rest() { asked.push_back(kRest); }
  };
  Job job(4, "");
  CallDescriptor call;
  call.type = DataType::u8;
  call.count = 10;
  ASSERT_TRUE(job.prepare(call, false).isOk());
  std::vector<Execution*> executions;
  for (int rank = 0; rank < 3; ++rank) {  // rank 3 does not come
    job.ranks[static_cast<std::size_t>(rank)]->execution.start(
        job.ranks[static_cast<std::size_t>(rank)]->call);
    executions.push_back(&job.ranks[static_cast<std::size_t>(rank)]->execution);
  }
  Events events;
  complete(executions, events);
  const std::vector<std::size_t> expected = {0, 1, 2, events.kRest, 0, 2, events.kRest, 0, 2, events.kRest,
                                             0};
  EXPECT_EQ(events.asked, expected);
}

// A peer that offers what is no window of its own is not followed there.
TEST(Execute, OffersOutsideOfWindowsAreRefused) {
  Job job(2, "", {}, 100);
  CallDescriptor call;
  call.type = DataType::u8;
  call.count = 10'000;
  ASSERT_TRUE(job.prepare(call, true).isOk());
  ASSERT_TRUE(job.run());
  for (const auto& rank : job.ranks) {
    EXPECT_EQ(rank->execution.outcome().code(), Code::internalError);
    EXPECT_NE(rank->execution.outcome().message().find("rank 0 says"), std::string::npos);
  }
}

// More kinds of calls than an execution keeps ready, in turn.
TEST(Execute, ManyDifferentCalls) {
  Job job(3, "");
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 300; ++i) {
      CallDescriptor call;
      call.type = DataType::u8;
      call.collective = static_cast<Collective>(i % 5);
      call.root = isRooted(call.collective) ? i % 3 : 0;
      call.count = static_cast<std::uint64_t>(1 + i * 11 % 3001);
      ASSERT_TRUE(job.prepare(call, false).isOk());
      ASSERT_TRUE(job.run()) << describe(call);
      ASSERT_EQ(job.wrong(call), "") << describe(call);
    }
  }
}

}  // namespace
}  // namespace tutti
