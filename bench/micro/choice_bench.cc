// Times every algorithm that can serve a collective, by size, with its cut and channels, beside each other in one
// run: what the table in src/collectives/choose.cc is made from. Ranks are threads, each bound to a core as long
// as there are cores; batches of all candidates are done in turn, many times over.
//
//   choice_bench COLLECTIVE [ranks, 2 [largest bytes, 4194304 [samples, 15]]]
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collectives/host_context.h"
#include "collectives/plan.h"
#include "common/machine.h"
#include "kernels/float_environment.h"
#include "transport/inprocess/links.h"

namespace {

using namespace tutti;
using Clock = std::chrono::steady_clock;

constexpr DataType kType = DataType::f32;

struct Candidate {
  Choice choice;
  std::string name;
};

std::vector<Candidate> candidatesOf(Collective collective, int nranks) {
  std::vector<Candidate> candidates;
  for (int a = 1; a < kAlgorithms; ++a) {
    const auto algorithm = static_cast<Algorithm>(a);
    if (algorithm == Algorithm::twoShotWindow || !serves(algorithm, collective, nranks)) continue;
    candidates.push_back(
        {{algorithm, MailboxFormat::lines, 1, 0, ""}, fmt::format("{}/lines", nameOf(algorithm))});
    for (int channels : {1, 2}) {
      for (std::uint64_t slotBytes : {4096u, 8192u, 16384u, 65536u})
        candidates.push_back({{algorithm, MailboxFormat::slots, channels, slotBytes, ""},
                              fmt::format("{}/{}x{}K", nameOf(algorithm), channels, slotBytes >> 10)});
    }
  }
  return candidates;
}

class Barrier {
 public:
  explicit Barrier(int n) : n_(n) {}
  void arrive() {
    const int generation = generation_.load();
    if (++arrived_ == n_) {
      arrived_ = 0;
      ++generation_;
    } else {
      while (generation_.load() == generation) sched_yield();
    }
  }

 private:
  const int n_;
  std::atomic<int> arrived_{0};
  std::atomic<int> generation_{0};
};

// One rank: its links, plans and buffers.
class Rank {
 public:
  Rank(int rank, int nranks, std::shared_ptr<InProcessHub> hub, std::size_t bytes, bool spins)
      : nranks_(nranks),
        spins_(spins),
        links_(std::move(hub), rank),
        planner_(rank, nranks, links_),
        input_(bytes * static_cast<std::size_t>(nranks)),
        output_(bytes * static_cast<std::size_t>(nranks)) {
    context_.kernel = reduceCopyFor(kType, Operation::sum);
  }

  // False: the candidate cannot carry such a call.
  bool prepare(Collective collective, const Candidate& candidate, std::size_t bytes) {
    const bool lines = candidate.choice.format == MailboxFormat::lines;
    if (lines && bytes > links_.lineBytes() /
                             static_cast<std::size_t>(collective == Collective::allGather ? nranks_ : 1))
      return false;
    auto plan = planner_.planFor(collective, 0, candidate.choice);
    if (!plan.isOk()) return false;
    plan_ = plan.value();
    call_ = {};
    call_.input = input_.data();
    call_.output = output_.data();
    call_.reduction = {kType, Operation::sum, static_cast<std::uint32_t>(nranks_)};
    for (auto& size : call_.formBytes) size = sizeof(float);
    const auto cut = plan_->cut(bytes / sizeof(float), call_.formBytes, candidate.choice.slotBytes);
    if (!cut.isOk()) return false;
    call_.cut = cut.value();
    call_.shape = ++shapes_;
    call_.tag = 1;
    return true;
  }

  void run() {
    for (LaneState& lane : plan_->lanes()) beginLane(context_, lane, call_);
    for (;;) {
      bool done = true;
      bool fired = false;
      for (LaneState& lane : plan_->lanes()) {
        while (advance(context_, lane)) fired = true;
        done &= lane.done;
      }
      if (done) return;
      if (!fired && !spins_) sched_yield();
    }
  }

 private:
  const int nranks_;
  const bool spins_;
  InProcessLinks links_;
  Planner planner_;
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  HostContext context_;
  Plan* plan_ = nullptr;
  CallArguments call_;
  std::uint64_t shapes_ = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void pinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

int collectiveOf(const std::string& name) {
  for (int c = 0; c < kCollectives; ++c) {
    if (name == settingNameOf(static_cast<Collective>(c))) return c;
  }
  return -1;
}

}  // namespace

int main(int argc, char** argv) {
  const int number = argc > 1 ? collectiveOf(argv[1]) : -1;
  const int nranks = argc > 2 ? std::atoi(argv[2]) : 2;
  const std::size_t most = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 4u << 20;
  const int samples = argc > 4 ? std::atoi(argv[4]) : 15;
  if (number < 0 || nranks < 2 || samples < 1 || argc > 5) {
    std::fprintf(stderr,
                 "usage: choice_bench COLLECTIVE [ranks, 2 [largest bytes, 4194304 [samples, 15]]]\n");
    return 2;
  }
  const auto collective = static_cast<Collective>(number);
  const auto cpus = bench::allowedCpus();
  const auto candidates = candidatesOf(collective, nranks);
  const auto hub = std::make_shared<InProcessHub>(LinkOptions());
  std::map<std::size_t, std::vector<std::vector<double>>> times;  // by size and candidate, us
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = 8; bytes <= most; bytes *= bytes < 512 ? 8 : 2) sizes.push_back(bytes);
  for (std::size_t bytes : sizes) times[bytes].resize(candidates.size());
  Barrier barrier(nranks);
  std::vector<std::thread> threads;
  for (int r = 0; r < nranks; ++r) {
    threads.emplace_back([&, r] {
      pinTo(cpus[static_cast<std::size_t>(r) % cpus.size()]);
      Rank rank(r, nranks, hub, most, nranks <= static_cast<int>(cpus.size()));
      const FloatEnvironment environment;
      for (std::size_t bytes : sizes) {
        const int iterations = static_cast<int>(std::clamp<std::size_t>((1u << 20) / bytes, 2, 500));
        for (int sample = 0; sample < samples; ++sample) {
          for (std::size_t c = 0; c < candidates.size(); ++c) {
            if (!rank.prepare(collective, candidates[c], bytes)) continue;
            barrier.arrive();
            rank.run();
            barrier.arrive();
            const auto start = Clock::now();
            for (int i = 0; i < iterations; ++i) rank.run();
            barrier.arrive();  // the slowest rank ends the batch
            const std::chrono::duration<double, std::micro> time = Clock::now() - start;
            if (r == 0) times[bytes][c].push_back(time.count() / iterations);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  const auto machine = bench::describeMachine();
  fmt::print("# {}, {} ranks, f32 sum, {}, {}; medians of {} batches, us, best first\n", argv[1], nranks,
             machine.cpu, bench::dateNow(), samples);
  for (std::size_t bytes : sizes) {
    std::vector<std::pair<double, std::string>> row;
    for (std::size_t c = 0; c < candidates.size(); ++c) {
      if (!times[bytes][c].empty()) row.emplace_back(median(times[bytes][c]), candidates[c].name);
    }
    std::sort(row.begin(), row.end());
    fmt::print("{:>8}", bytes);
    for (std::size_t i = 0; i < std::min<std::size_t>(row.size(), 8); ++i)
      fmt::print("  {} {:.2f}", row[i].second, row[i].first);
    fmt::print("\n");
  }
  return 0;
}
