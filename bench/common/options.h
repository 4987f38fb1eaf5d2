// What a *_perf program was asked to do, checked as far as it can be without knowing the machine. The only
// part that knows how a command line is read.
#pragma once

#include "collective.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tutti::bench {

// Exit statuses of all programs, part of their interface.
inline constexpr int kExitOk = 0;
inline constexpr int kExitWrongData = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitFailure = 3;

// A hook for tests (TUTTI_PERF_FLIP=rank:index:bit): this bit of the received element is flipped before the
// check.
struct Flip {
  int rank;
  std::size_t index;
  unsigned bit;
};

struct Options {
  std::string program;
  int processes;
  int threads;  // ranks of each process
  int ranks;    // processes * threads
  std::size_t minBytes, maxBytes;
  std::optional<double> factor;  // else stepBytes
  std::size_t stepBytes;
  long iterations;  // 0: chosen by time
  long warmups;     // -1: chosen by time
  bool check;
  std::vector<tuttiDataType_t> types;
  std::vector<tuttiRedOp_t> operations;  // one entry of no meaning for collectives without operation
  std::vector<int> roots;                // likewise; ignored if rotateRoots
  bool rotateRoots;
  bool registerBuffers;
  std::size_t unalign;  // elements
  bool pin;
  bool showPlan;
  long timeoutSeconds;    // 0: the library's
  std::string algorithm;  // as forcedAlgorithms writes it; empty: the library chooses
  std::string jsonPath;
  std::optional<Flip> flip;
  std::vector<std::string> command;
};

// The options, or what to leave with instead: the help, or a complaint.
struct ParsedOptions {
  std::optional<Options> options;
  std::string help;
  std::string nonsense;
};

// processes: how many a launcher has started, 0 without a launcher. isFirst: of process 0, which alone writes
// files.
ParsedOptions parseOptions(const Collective& collective, int processes, bool isFirst, int argc, char** argv);

// "all_reduce_perf: TEXT" and the way to --help, on standard error. Returns kExitUsage.
int usageError(const std::string& program, const std::string& text);

}  // namespace tutti::bench
