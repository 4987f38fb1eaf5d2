// The order of a program: launch, options, work, communicators, buffers, lines, summary, file; and which exit
// status each outcome has. Processes go through it side by side, and leave it together: process 0 prints.
#include "runner.h"

#include "cpus.h"
#include "json_file.h"
#include "launch.h"
#include "machine.h"
#include "number.h"
#include "options.h"
#include "output.h"
#include "session.h"
#include "table.h"
#include "work.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace tutti::bench {
namespace {

using ShowRow = std::function<void(const Row& row)>;

// Every line in order. Stops at the first call that fails.
void runRows(Session* session, const Options& options, const Work& work, const ShowRow& show,
             RunRecord* record) {
  double sum = 0;
  int figures = 0;
  for (std::size_t t = 0; t < options.types.size(); t++) {
    for (tuttiRedOp_t op : options.operations) {
      for (int root : options.roots) {
        for (std::size_t count : work.counts[t]) {
          Row row{};
          if (const Outcome failure = session->measureRow(options.types[t], op, root, count, &row)) {
            record->summary.failure =
                fmt::format("{} of {} bytes of {}: rank {}: {}", record->collective->name, row.sizeBytes,
                            row.type, failure->rank, failure->text);
            return;
          }
          show(row);
          sum += row.outOfPlace.busbwGBps + row.inPlace.busbwGBps;
          figures += 2;
          record->summary.averageBusbwGBps = sum / figures;
          record->summary.wrong += std::max(row.outOfPlace.wrong, 0L) + std::max(row.inPlace.wrong, 0L);
          record->rows.push_back(std::move(row));
        }
      }
    }
  }
}

// What has to be equal in all processes.
std::string whatWasAsked(const Options& options) {
  std::string text = options.program;
  for (std::size_t i = 1; i < options.command.size(); i++) text += '\n' + options.command[i];
  text += '\n' + options.algorithm;
  if (options.flip)
    text += fmt::format("\n{}:{}:{}", options.flip->rank, options.flip->index, options.flip->bit);
  return text;
}

// The program in all processes, side by side; each of its functions ends alike in all of them.
class Run {
 public:
  Run(const Collective& collective, Launch& launch)
      : collective_(collective), launch_(launch), program_(fmt::format("{}_perf", collective.name)) {}

  // launched: by a launcher. Returns the exit status.
  int run(bool launched, int argc, char** argv) {
    const ParsedOptions parsed =
        parseOptions(collective_, launched ? launch_.processes() : 0, isFirst(), argc, argv);
    if (const auto status = agreeToLeave(launch_, !parsed.options, [&] { return sayParsed(parsed); }))
      return *status;
    const Options& options = *parsed.options;
    const auto other = firstThatDiffers(launch_, whatWasAsked(options));
    const Work work = other ? Work{} : planWork(collective_, options);
    const std::string error =
        other
            ? fmt::format("process {} was given other options, or another TUTTI_ALGO, than process 0", *other)
            : work.error;
    if (const auto status =
            agreeToLeave(launch_, !error.empty(), [&] { return usageError(program_, error); }))
      return *status;
    return measure(options, work);
  }

 private:
  bool isFirst() const { return launch_.process() == 0; }

  int sayFailed(const std::string& text) const {
    complain(fmt::format("{}: {}\n", program_, text));
    return kExitFailure;
  }

  int sayParsed(const ParsedOptions& parsed) const {
    if (parsed.help.empty()) return usageError(program_, parsed.nonsense);
    const std::string error = print(parsed.help);
    return error.empty() ? kExitOk : sayFailed(error);
  }

  int measure(const Options& options, const Work& work) {
    std::unique_ptr<Session> session;
    std::string error;
    try {
      session = std::make_unique<Session>(collective_, options, launch_);
    } catch (const std::exception& thrown) {
      error = wordsFor(thrown);
    }
    if (const auto status = agreeToLeave(launch_, !error.empty(), [&] { return sayFailed(error); }))
      return *status;
    if (const Outcome failure = session->join()) {
      const std::string rank = launch_.processes() == 1 ? "" : fmt::format("rank {}: ", failure->rank);
      return *agreeToLeave(launch_, isFirst(), [&] { return sayFailed(rank + failure->text); });
    }

    RunRecord record{&collective_, &options, describeMachine(), dateNow(), session->method(), {}, {}};
    record.summary.checked = options.check;
    Table table;
    const CpuShare cpus = mostCrowded(launch_, options.threads);
    if (isFirst()) table.head(options, record.machine, cpus, record.method);
    if (const Outcome failure = session->makeBuffers(work.sendBytes, work.recvBytes, work.offset)) {
      record.summary.failure = fmt::format("rank {}: {}", failure->rank, failure->text);
    } else {
      const auto show = [&](const Row& row) {
        if (isFirst()) table.row(row, options.showPlan);
      };
      runRows(session.get(), options, work, show, &record);
    }
    session->releaseBuffers();
    // A launcher kills the others when one ends with an error: not before all is said.
    return *agreeToLeave(launch_, isFirst(), [&] { return conclude(&table, record); });
  }

  int conclude(Table* table, const RunRecord& record) const {
    const std::string& path = record.options->jsonPath;
    if (!record.summary.failure.empty()) {
      complain(fmt::format("# FAILED {}\n", record.summary.failure));
      if (!path.empty()) sayFailed(fmt::format("nothing was written to {}", path));
      return kExitFailure;
    }
    table->summary(record.summary);
    int status = record.summary.wrong > 0 ? kExitWrongData : kExitOk;
    if (!table->error().empty())
      status = sayFailed(fmt::format("the table is not whole: {}", table->error()));
    if (!path.empty()) {
      const std::string error = writeJson(record, path);
      if (!error.empty()) status = sayFailed(error);
    }
    return status;
  }

  const Collective& collective_;
  Launch& launch_;
  const std::string program_;
};

// Each process of a wrong launch is alone, so nobody can agree on one speaker. The first speaks; the others
// wait, because a launcher kills all when one ends with an error.
int refuse(const Collective& collective, const Launcher& launcher, const std::string& text) {
  if (launcher.process == 0) {
    complain(fmt::format("{}_perf: {}\n", collective.name, text));
  } else {
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
  return kExitUsage;
}

}  // namespace

int runPerf(const Collective& collective, int argc, char** argv) {
  Launched launched;
  try {
    const std::optional<Launcher> launcher = launcherIn([](const char* name) { return std::getenv(name); });
    launched = startLaunch(launcher);
    if (!launched.launch) return refuse(collective, *launcher, launched.refusal);
    return Run(collective, *launched.launch).run(launcher.has_value(), argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s_perf: %s\n", collective.name, wordsFor(error));  // needs no memory
    if (launched.launch) launched.launch->abandon(kExitFailure);
    return kExitFailure;
  }
}

}  // namespace tutti::bench
