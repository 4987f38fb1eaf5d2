// First call, warm-up, choice of the number of calls, batches. All ranks do the same number of calls, because
// the main threads decide between jobs, from times that all processes share; in a batch a rank touches nothing but
// its own times.
#include "timing.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <vector>

namespace tutti::bench {
namespace {

constexpr double kBudgetUs = 150'000;
constexpr double kSlowCallUs = 5'000;
constexpr long kMostIterations = 1'000'000;
constexpr long kBatches = 5;

double nowUs() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(since).count();
}

// One batch of a measurement: what every rank saw.
class Batch {
 public:
  Batch(Ranks& ranks, const char* what, const TimedCall& call, TimingMethod method)
      : ranks_(ranks), what_(what), call_(call), method_(method) {}

  // Runs `calls` calls, the first numbered `first`, and writes the time of one.
  Outcome run(long first, long calls, double* us) {
    elapsed_.assign(static_cast<std::size_t>(ranks_.here()), {});
    const Outcome failure = ranks_.run([&](int rank) {
      return method_ == TimingMethod::backToBack ? backToBack(rank, first, calls)
                                                 : oneByOne(rank, first, calls);
    });
    if (failure) return failure;
    std::vector<double>& slowest = elapsed_.front();
    for (const std::vector<double>& ofRank : elapsed_) {
      for (std::size_t i = 0; i < slowest.size(); i++) slowest[i] = std::max(slowest[i], ofRank[i]);
    }
    ranks_.launch().maximum(slowest.data(), slowest.size());
    *us = std::accumulate(slowest.begin(), slowest.end(), 0.0) / static_cast<double>(calls);
    return std::nullopt;
  }

 private:
  Outcome backToBack(int rank, long first, long calls) {
    const tuttiComm_t comm = ranks_.comm(rank);
    if (Outcome failed = outcomeOf(tuttiBarrier(comm, nullptr), rank, "tuttiBarrier", comm)) return failed;
    const double start = nowUs();
    for (long i = 0; i < calls; i++) {
      const tuttiResult_t result = call_(rank, first + i);
      if (result != tuttiSuccess) return outcomeOf(result, rank, what_, comm);
    }
    elapsed_[ranks_.at(rank)].push_back(nowUs() - start);
    return std::nullopt;
  }

  Outcome oneByOne(int rank, long first, long calls) {
    const tuttiComm_t comm = ranks_.comm(rank);
    std::vector<double>& times = elapsed_[ranks_.at(rank)];
    times.resize(static_cast<std::size_t>(calls));
    for (long i = 0; i < calls; i++) {
      if (Outcome failed = outcomeOf(tuttiBarrier(comm, nullptr), rank, "tuttiBarrier", comm)) return failed;
      const double start = nowUs();
      const tuttiResult_t result = call_(rank, first + i);
      times[static_cast<std::size_t>(i)] = nowUs() - start;
      if (result != tuttiSuccess) return outcomeOf(result, rank, what_, comm);
    }
    return std::nullopt;
  }

  Ranks& ranks_;
  const char* what_;
  const TimedCall& call_;
  TimingMethod method_;
  std::vector<std::vector<double>> elapsed_;  // each rank writes its own entry
};

}  // namespace

Outcome measure(Ranks& ranks, const char* what, const TimedCall& call, const TimingOptions& options,
                Timing* timing) {
  Batch batch(ranks, what, call, options.method);
  long next = 0;
  double estimateUs = 0;
  const auto runBatch = [&](long calls, double* us) {
    const Outcome failure = batch.run(next, calls, us);
    next += calls;
    return failure;
  };
  // The first call makes plans and touches memory; it is always outside the time.
  if (options.warmups != 0 || options.iterations == 0) {
    if (Outcome failure = runBatch(1, &estimateUs)) return failure;
  }
  const long warmups = options.warmups >= 0 ? options.warmups : (estimateUs < kSlowCallUs ? 5 : 1);
  if (warmups > 1) {
    if (Outcome failure = runBatch(warmups - 1, &estimateUs)) return failure;
  }
  long iterations = options.iterations;
  if (iterations == 0) {
    const double fitting = kBudgetUs / std::max(estimateUs, 1e-3);
    iterations = std::clamp(static_cast<long>(std::min(fitting, 1e9)), 3L, kMostIterations);
  }
  const long batches = std::min(kBatches, iterations);
  std::vector<double> times;
  for (long i = 0; i < batches; i++) {
    const long calls = iterations * (i + 1) / batches - iterations * i / batches;
    times.emplace_back();
    if (Outcome failure = runBatch(calls, &times.back())) return failure;
  }
  std::sort(times.begin(), times.end());
  const std::size_t middle = times.size() / 2;
  timing->medianUs = times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  timing->leastUs = times.front();
  timing->mostUs = times.back();
  timing->iterations = iterations;
  timing->batches = static_cast<int>(batches);
  return std::nullopt;
}

}  // namespace tutti::bench
