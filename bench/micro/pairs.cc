#include "pairs.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "base/memory_order.h"

namespace tutti::bench {
namespace {

using Clock = std::chrono::steady_clock;

double timed(const Batch& batch, int rank, int iterations, const FlagExchange& flags) {
  flags(rank, 16);
  const auto start = Clock::now();
  batch(rank, iterations);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / iterations;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

std::string duration(double ns) {
  return ns < 1e4   ? fmt::format("{:.0f} ns", ns)
         : ns < 1e7 ? fmt::format("{:.1f} us", ns / 1e3)
                    : fmt::format("{:.2f} ms", ns / 1e6);
}

}  // namespace

void FlagExchange::operator()(int rank, int iterations) const {
  Flag& mine = flags_[rank];
  const Flag& other = flags_[1 - rank];
  std::uint64_t count = mine.value;
  for (int i = 0; i < iterations; ++i) {
    storeRelease(&mine.value, ++count);
    while (loadAcquire(&other.value) < count) {
    }
  }
}

std::string sized(const std::string& what, std::size_t bytes) {
  return bytes >= (1u << 20) ? fmt::format("{} {} MiB", what, bytes >> 20)
         : bytes >= 1024     ? fmt::format("{} {} KiB", what, bytes >> 10)
                             : fmt::format("{} {} B", what, bytes);
}

int iterationsFor(std::size_t bytes) {
  return static_cast<int>(std::clamp<std::size_t>((1u << 23) / bytes, 1, 1000));
}

void pinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

void printHeader(const std::string& beside) {
  fmt::print("{:<22} {:>10} {:>10}   {:<24} {:>10} {:>10}   {:^20}\n", beside, "p10", "median", "measured",
             "p10", "median", "ratio p10 median p90");
}

void play(const Pair& pair, int rank, const FlagExchange& flags) {
  std::vector<double> beside, measured, ratio;
  pair.measuredBatch(rank, 2);
  for (int i = 0; i < pair.pairs; ++i) {
    const double a = timed(pair.besideBatch, rank, pair.iterations, flags);
    const double b = timed(pair.measuredBatch, rank, pair.iterations, flags);
    beside.push_back(a);
    measured.push_back(b);
    ratio.push_back(b / a);
  }
  if (rank != 0) return;
  fmt::print("{:<22} {:>10} {:>10}   {:<24} {:>10} {:>10}   {:>6.2f} {:>6.2f} {:>6.2f}\n", pair.beside,
             duration(quantile(beside, 0.1)), duration(quantile(beside, 0.5)), pair.measured,
             duration(quantile(measured, 0.1)), duration(quantile(measured, 0.5)), quantile(ratio, 0.1),
             quantile(ratio, 0.5), quantile(ratio, 0.9));
  std::fflush(stdout);
}

}  // namespace tutti::bench
