// The order of a program: options, work, communicators, buffers, lines, summary, file; and which exit status
// each outcome has.
#include "runner.h"

#include "json_file.h"
#include "machine.h"
#include "number.h"
#include "options.h"
#include "output.h"
#include "session.h"
#include "table.h"
#include "work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tutti::bench {
namespace {

// Every line in order. Stops at the first call that fails.
void runRows(Session* session, const Options& options, const Work& work, Table* table, RunRecord* record) {
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
          table->row(row, options.showPlan);
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

struct Communicators {
  std::vector<tuttiComm_t> comms;
  std::string error;
};

Communicators makeCommunicators(const Options& options) {
  tuttiConfig_t config = TUTTI_CONFIG_INIT;
  if (options.timeoutSeconds > 0) config.timeoutMs = options.timeoutSeconds * 1000;
  // Not in the config: there the variable as the user wrote it would come before it.
  setenv("TUTTI_ALGO", options.algorithm.c_str(), 1);
  Communicators made;
  made.comms.resize(static_cast<std::size_t>(options.ranks));
  const tuttiResult_t result = tuttiCommInitAllConfig(made.comms.data(), options.ranks, nullptr, &config);
  if (result != tuttiSuccess) {
    made.error = fmt::format("{}: {}", tuttiGetErrorString(result), tuttiGetLastError(nullptr));
  }
  return made;
}

// Everything but the guard of runPerf.
int run(const Collective& collective, int argc, char** argv) {
  const ParsedOptions parsed = parseOptions(collective, argc, argv);
  if (!parsed.options) return parsed.exitStatus;
  const Options& options = *parsed.options;
  const Work work = planWork(collective, options);
  if (!work.error.empty()) return usageError(options.program, work.error);
  const auto sayFailed = [&](const std::string& text) {
    complain(fmt::format("{}: {}\n", options.program, text));
    return kExitFailure;
  };
  Communicators communicators = makeCommunicators(options);
  if (!communicators.error.empty()) return sayFailed(communicators.error);
  Session session(collective, options, std::move(communicators.comms));
  RunRecord record{&collective, &options, describeMachine(), dateNow(), session.method(), {}, {}};
  record.summary.checked = options.check;
  Table table;
  table.head(options, record.machine, record.method);
  if (const Outcome failure = session.makeBuffers(work.sendBytes, work.recvBytes, work.offset)) {
    record.summary.failure = fmt::format("rank {}: {}", failure->rank, failure->text);
  } else {
    runRows(&session, options, work, &table, &record);
  }
  session.releaseBuffers();
  if (!record.summary.failure.empty()) {
    complain(fmt::format("# FAILED {}\n", record.summary.failure));
    if (!options.jsonPath.empty()) sayFailed(fmt::format("nothing was written to {}", options.jsonPath));
    return kExitFailure;
  }
  table.summary(record.summary);
  int status = record.summary.wrong > 0 ? kExitWrongData : kExitOk;
  if (!table.error().empty()) status = sayFailed(fmt::format("the table is not whole: {}", table.error()));
  if (!options.jsonPath.empty()) {
    const std::string error = writeJson(record, options.jsonPath);
    if (!error.empty()) status = sayFailed(error);
  }
  return status;
}

}  // namespace

int runPerf(const Collective& collective, int argc, char** argv) {
  try {
    return run(collective, argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s_perf: %s\n", collective.name, wordsFor(error));  // needs no memory
    return kExitFailure;
  }
}

}  // namespace tutti::bench
