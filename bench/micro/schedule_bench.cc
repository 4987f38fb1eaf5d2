// By number of ranks: how long it takes to build the schedule of one rank; to plan it, which includes
// building it, and which a communicator does at its first call of a kind; and to check the schedules of all
// ranks, which only tests do.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/link_source.h"
#include "collectives/checker.h"
#include "collectives/plan.h"
#include "collectives/schedule.h"

namespace tutti {
namespace {

struct Pair {
  Algorithm algorithm;
  Collective collective;
};

constexpr Pair kPairs[] = {
    {Algorithm::ring, Collective::allReduce},
    {Algorithm::oneShot, Collective::allReduce},
    {Algorithm::twoShot, Collective::allReduce},
    {Algorithm::twoShotWindow, Collective::allReduce},
    {Algorithm::doubleTree, Collective::allReduce},
    {Algorithm::recursiveDoubling, Collective::allReduce},
    {Algorithm::halvingDoubling, Collective::allReduce},
    {Algorithm::binomial, Collective::broadcast},
};

ScheduleRequest requestOf(const Pair& pair, int rank, int nranks) {
  return {pair.collective, pair.algorithm, rank, nranks, 0, 1};
}

void build(benchmark::State& state, Pair pair) {
  const int nranks = static_cast<int>(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(buildSchedule(requestOf(pair, nranks / 2, nranks)));
}

// Hands out one end for all links: what making a link costs is the transport's, and planning looks into none.
class NoLinks : public LinkSource {
 public:
  Result<MailboxEnd*> open(const LinkRequest&) override { return &end_; }
  std::uint64_t slotBytes() const override { return 64 * 1024; }
  std::uint64_t lineBytes() const override { return 2 * 1024; }

 private:
  MailboxEnd end_{};
};

void plan(benchmark::State& state, Pair pair) {
  const int nranks = static_cast<int>(state.range(0));
  NoLinks links;
  for (auto _ : state) {
    const auto made = Plan::make(requestOf(pair, nranks / 2, nranks), MailboxFormat::slots, links);
    if (!made.isOk()) return state.SkipWithError(made.status().message().c_str());
  }
}

void check(benchmark::State& state, Pair pair) {
  const int nranks = static_cast<int>(state.range(0));
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < nranks; ++rank) schedules.push_back(buildSchedule(requestOf(pair, rank, nranks)));
  for (auto _ : state) {
    const CheckReport report = checkSchedules(schedules, pair.collective, 0, {});
    if (!report.ok()) state.SkipWithError(report.text().c_str());
  }
}

const bool kRegistered = [] {
  for (const Pair& pair : kPairs) {
    const std::string name = std::string(nameOf(pair.algorithm)) + "/" + nameOf(pair.collective);
    for (int nranks : {2, 8, 64, 256, 1024}) {
      benchmark::RegisterBenchmark(("plan/" + name).c_str(), plan, pair)
          ->Arg(nranks)
          ->ArgName("ranks")
          ->Unit(benchmark::kMicrosecond);
    }
    for (int nranks : {2, 8, 64, 256}) {
      benchmark::RegisterBenchmark(("build/" + name).c_str(), build, pair)->Arg(nranks)->ArgName("ranks");
      benchmark::RegisterBenchmark(("check/" + name).c_str(), check, pair)
          ->Arg(nranks)
          ->ArgName("ranks")
          ->Unit(benchmark::kMicrosecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace tutti

BENCHMARK_MAIN();
