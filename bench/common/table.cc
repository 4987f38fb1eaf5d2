// Text of the table. Figures have three digits or more, so that 0.13 us and 50 ms are both readable.
#include "table.h"

#include "output.h"

#include <fmt/format.h>

namespace tutti::bench {
namespace {

// Three or more digits, in eight columns.
std::string fitting(double value) {
  if (value >= 1000) return fmt::format("{:8.0f}", value);
  if (value >= 100) return fmt::format("{:8.1f}", value);
  if (value >= 10) return fmt::format("{:8.2f}", value);
  return fmt::format("{:8.3f}", value);
}

std::string columns(const RowResult& result) {
  const std::string wrong = result.wrong < 0 ? "N/A" : std::to_string(result.wrong);
  return fmt::format("{} {} {} {:>6}", fitting(result.timing.medianUs), fitting(result.algbwGBps),
                     fitting(result.busbwGBps), wrong);
}

std::string planText(const tuttiPlan_t& plan) {
  return plan.algorithm[0] == '\0' ? "-" : fmt::format("{}/{}", plan.algorithm, plan.protocol);
}

}  // namespace

void Table::head(const Options& options, const Machine& machine, const CpuShare& cpus, TimingMethod method) {
  int version = 0;
  std::string text;
  tuttiGetVersion(&version);
  text += fmt::format("# {} tutti {}.{}.{}\n", options.program, version / 10000, version / 100 % 100,
                      version % 100);
  text += fmt::format("# {}, {} cores, {}\n", machine.cpu, machine.cores, machine.kernel);
  const std::string step = options.factor ? fmt::format("{}(factor)", *options.factor)
                                          : fmt::format("{}(bytes)", options.stepBytes);
  text += fmt::format(
      "# nProcess {} nThread {} minBytes {} maxBytes {} step: {} warmup iters: {} iters: {} validation: {} "
      "registered: "
      "{}\n",
      options.processes, options.threads, options.minBytes, options.maxBytes, step,
      options.warmups < 0 ? "auto" : std::to_string(options.warmups),
      options.iterations == 0 ? "auto" : std::to_string(options.iterations), options.check ? 1 : 0,
      options.registerBuffers ? 1 : 0);
  text +=
      fmt::format("# timing: {}\n", method == TimingMethod::backToBack
                                        ? "calls back to back, the slowest rank, median of batches"
                                        : "a barrier before each call, its slowest rank, median of batches");
  if (cpus.ranks > cpus.cpus) {
    text += fmt::format("# {} ranks share {} CPUs: times are those of an oversubscribed machine\n",
                        cpus.ranks, cpus.cpus);
  }
  if (!options.algorithm.empty()) text += fmt::format("# forced: {}\n", options.algorithm);
  text += "#\n";
  text += fmt::format("# {:>12} {:>13} {:>9} {:>6} {:>7} {:^33} {:^33}\n", "", "", "", "", "", "out-of-place",
                      "in-place");
  text += fmt::format("# {:>12} {:>13} {:>9} {:>6} {:>7} {:>8} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8} {:>6}\n",
                      "size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time",
                      "algbw", "busbw", "#wrong");
  text += fmt::format("# {:>12} {:>13} {:>9} {:>6} {:>7} {:>8} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8} {:>6}\n",
                      "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "(GB/s)",
                      "(GB/s)", "");
  write(text);
}

void Table::row(const Row& row, bool showPlan) {
  std::string text = fmt::format("{:>14} {:>13} {:>9} {:>6} {:>7} {} {}", row.sizeBytes, row.count, row.type,
                                 row.op, row.root, columns(row.outOfPlace), columns(row.inPlace));
  if (showPlan) text += fmt::format("  {} {}", planText(row.outOfPlace.plan), planText(row.inPlace.plan));
  write(text + '\n');
}

void Table::summary(const Summary& summary) {
  const std::string wrong = !summary.checked
                                ? "not checked"
                                : fmt::format("{} {}", summary.wrong, summary.wrong == 0 ? "OK" : "FAILED");
  write(fmt::format("# Out of bounds values : {}\n# Avg bus bandwidth    : {:g}\n", wrong,
                    summary.averageBusbwGBps));
}

void Table::write(const std::string& text) {
  if (error_.empty()) error_ = print(text);
}

}  // namespace tutti::bench
