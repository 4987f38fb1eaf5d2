// Declares the options with CLI11 (the only file that includes it: it is slow to compile), takes every value
// as text, and checks it here, so that all refusals read alike: what was typed, where, and what was expected.
#include "options.h"

#include "forced.h"
#include "number.h"
#include "output.h"
#include "sizes.h"
#include "whole_file.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace tutti::bench {
namespace {

// Everything as it was typed; empty: not given.
struct Typed {
  std::string threads, minBytes, maxBytes, step, factor, iterations, warmups, check = "1";
  std::string type = "float", operation = "sum", root = "0", registered = "0", unalign = "0", timeout = "0";
  std::string algorithm, json;
  bool pin = false, plan = false;
};

// Thrown and caught in this file only: the first thing that is wrong.
struct Nonsense {
  std::string text;
};

long wholeNumber(const std::string& option, const std::string& text, long least, long most) {
  errno = 0;
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || errno == ERANGE || value < least || value > most) {
    throw Nonsense{fmt::format("{} {}: expected a whole number from {} to {}", option, text, least, most)};
  }
  return value;
}

bool zeroOrOne(const std::string& option, const std::string& text) {
  if (text != "0" && text != "1") throw Nonsense{fmt::format("{} {}: expected 0 or 1", option, text)};
  return text == "1";
}

std::size_t size(const std::string& option, const std::string& text) {
  const std::optional<std::size_t> bytes = parseBytes(text);
  if (!bytes) {
    throw Nonsense{fmt::format("{} {}: expected bytes below 2^63, alone or in K, M, G or T: 4096, 64K, 1.5M",
                               option, text)};
  }
  return *bytes;
}

void readSizes(const Typed& typed, Options* options) {
  constexpr std::size_t kDefault = 32 << 20;
  const bool minGiven = !typed.minBytes.empty();
  const bool maxGiven = !typed.maxBytes.empty();
  const std::size_t min = minGiven ? size("-b", typed.minBytes) : kDefault;
  const std::size_t max = maxGiven ? size("-e", typed.maxBytes) : kDefault;
  options->minBytes = minGiven ? min : std::min(min, max);
  options->maxBytes = maxGiven ? max : std::max(min, max);
  if (options->minBytes > options->maxBytes) {
    throw Nonsense{fmt::format("-b {} is more than -e {}: the smallest size comes first", typed.minBytes,
                               typed.maxBytes)};
  }
  if (!typed.factor.empty() && !typed.step.empty()) {
    throw Nonsense{fmt::format("-f {} and -i {}: sizes grow by a factor or by a step, give one of them",
                               typed.factor, typed.step)};
  }
  if (!typed.factor.empty()) {
    char* end = nullptr;
    const double factor = std::strtod(typed.factor.c_str(), &end);
    if (*end != '\0' || !std::isfinite(factor) || factor <= 1) {
      throw Nonsense{fmt::format("-f {}: expected a number above 1", typed.factor)};
    }
    if (options->minBytes == 0 && options->maxBytes > 0) {
      throw Nonsense{fmt::format("-f {}: no factor leads away from -b 0; use -i, or begin at one element",
                                 typed.factor)};
    }
    options->factor = factor;
  }
  options->stepBytes = typed.step.empty() ? 1 << 20 : size("-i", typed.step);
  if (options->stepBytes == 0) throw Nonsense{"-i 0: expected a step of at least one byte"};
}

void readTypes(const Typed& typed, Options* options) {
  if (typed.type == "all") {
    options->types = allTypes();
  } else if (const auto type = typeNamed(typed.type)) {
    options->types = {*type};
  } else {
    std::string names;
    for (tuttiDataType_t known : allTypes()) names += fmt::format("{}, ", typeName(known));
    throw Nonsense{fmt::format("-d {}: unknown type; expected {}or all", typed.type, names)};
  }
}

void readOperations(const Typed& typed, bool relevant, Options* options) {
  if (typed.operation == "all") {
    options->operations = allOperations();
  } else if (const auto op = operationNamed(typed.operation)) {
    options->operations = {*op};
  } else {
    std::string names;
    for (tuttiRedOp_t known : allOperations()) names += fmt::format("{}, ", operationName(known));
    throw Nonsense{fmt::format("-o {}: unknown operation; expected {}or all", typed.operation, names)};
  }
  if (!relevant) options->operations = {tuttiSum};
}

void readRoots(const Typed& typed, bool relevant, Options* options) {
  options->rotateRoots = relevant && typed.root == "rotate";
  if (typed.root == "all") {
    for (int root = 0; root < options->ranks; root++) options->roots.push_back(root);
  } else if (typed.root == "rotate") {
    options->roots = {0};
  } else {
    errno = 0;
    char* end = nullptr;
    const long root = std::strtol(typed.root.c_str(), &end, 10);
    if (typed.root.empty() || *end != '\0' || root < 0 || root >= options->ranks) {
      throw Nonsense{fmt::format("-r {}: expected a rank below {} (the number of ranks), all or rotate",
                                 typed.root, options->ranks)};
    }
    options->roots = {static_cast<int>(root)};
  }
  if (!relevant) options->roots = {0};
}

void readFlip(const char* text, Options* options) {
  if (text == nullptr || text[0] == '\0') return;
  Flip flip{};
  int used = 0;
  if (std::sscanf(text, "%d:%zu:%u%n", &flip.rank, &flip.index, &flip.bit, &used) != 3 ||
      text[used] != '\0') {
    throw Nonsense{fmt::format("TUTTI_PERF_FLIP={}: expected rank:index:bit", text)};
  }
  if (flip.rank < 0 || flip.rank >= options->ranks || !options->check) {
    throw Nonsense{fmt::format("TUTTI_PERF_FLIP={}: needs a rank below {} and -c 1", text, options->ranks)};
  }
  for (tuttiDataType_t type : options->types) {
    if (flip.bit >= 8 * bytesOf(type)) {
      throw Nonsense{fmt::format("TUTTI_PERF_FLIP={}: {} has no bit {}", text, typeName(type), flip.bit)};
    }
  }
  options->flip = flip;
}

void requireWritable(const std::string& path) {
  if (path.empty()) return;
  const std::string reason = whyNotWritable(path);
  if (!reason.empty()) throw Nonsense{fmt::format("-J {}: cannot write there: {}", path, reason)};
}

void readRanks(const Typed& typed, int processes, Options* options) {
  constexpr int kMostRanks = 1024;
  options->processes = std::max(processes, 1);
  options->threads = processes > 0 ? 1 : 2;
  if (!typed.threads.empty())
    options->threads = static_cast<int>(wholeNumber("-t", typed.threads, 1, kMostRanks));
  if (options->threads > kMostRanks / options->processes) {
    throw Nonsense{fmt::format("{} processes with {} ranks each (-t): expected at most {} ranks in all",
                               options->processes, options->threads, kMostRanks)};
  }
  options->ranks = options->processes * options->threads;
}

Options checked(const Collective& collective, int processes, bool isFirst, const Typed& typed) {
  Options options{};
  options.program = fmt::format("{}_perf", collective.name);
  readRanks(typed, processes, &options);
  readSizes(typed, &options);
  options.iterations = typed.iterations.empty() ? 0 : wholeNumber("-n", typed.iterations, 1, 1'000'000'000);
  options.warmups = typed.warmups.empty() ? -1 : wholeNumber("-w", typed.warmups, 0, 1'000'000'000);
  options.check = wholeNumber("-c", typed.check, 0, 1'000'000) > 0;
  readTypes(typed, &options);
  readOperations(typed, hasOperation(collective.kind), &options);
  readRoots(typed, hasRoot(collective.kind), &options);
  options.registerBuffers = zeroOrOne("-R", typed.registered);
  options.unalign = static_cast<std::size_t>(wholeNumber("-u", typed.unalign, 0, 4096));
  options.timeoutSeconds = wholeNumber("-T", typed.timeout, 0, 1'000'000);
  options.pin = typed.pin;
  options.showPlan = typed.plan;
  const char* variable = std::getenv("TUTTI_ALGO");
  const char* chosenByHand = variable == nullptr ? "" : variable;
  options.algorithm = forcedAlgorithms(
      collective.kind, typed.algorithm.empty() ? std::string_view(chosenByHand) : typed.algorithm);
  options.jsonPath = typed.json;
  readFlip(std::getenv("TUTTI_PERF_FLIP"), &options);
  if (isFirst) requireWritable(options.jsonPath);
  return options;
}

std::string footer(const Collective& collective) {
  const std::string program = fmt::format("{}_perf", collective.name);
  const bool blocks = collective.kind == Kind::reduceScatter || collective.kind == Kind::allGather;
  std::string text = "\nWhat the columns mean\n";
  text +=
      blocks
          ? "  size    bytes of all ranks' blocks together; count: elements of one block. Sizes are rounded\n"
            "          down to whole blocks, but never below one element a block.\n"
          : "  size    bytes of one rank's data; count: its elements.\n";
  text +=
      "  time    of one call, until it is complete on the slowest rank; the median of up to 5 batches.\n"
      "  algbw   size / time: how fast the collective looks from outside, in GB/s (10^9 bytes).\n";
  text += fmt::format(
      "  busbw   algbw * {}: what every rank's memory or link has to carry at least; comparable\n"
      "          between collectives and numbers of ranks, and with the speed of the hardware.\n",
      collective.busFactorText);
  text +=
      "  #wrong  elements, over all ranks, that differ from what a plain loop computes (N/A with -c 0).\n"
      "  Out of place: send and receive buffers differ. In place: the result replaces the input.\n"
      "\nHow it is timed\n";
  text += hasRoot(collective.kind) ? "  With a fixed root every call follows a barrier, is timed on every "
                                     "rank by itself, and counts with\n"
                                     "  its slowest rank (without the barrier): otherwise ranks that leave "
                                     "early would run ahead into the\n"
                                     "  next call, and the overlap of calls would pass for bandwidth. With "
                                     "-r rotate the root moves by one\n"
                                     "  rank per call and calls run back to back.\n"
                                   : "  A barrier, then the calls of a batch back to back.\n";
  text += fmt::format(
      "\nExamples\n"
      "  {0} -b 8 -e 128M -f 4            from 8 bytes to 128 MiB, two ranks\n"
      "  {0} -t 4 -b 1M -e 1M -d all      every type, four ranks\n"
      "  mpirun -n 4 {0} -b 8 -e 1M -f 4  four ranks, processes of one host (processes * -t ranks)\n"
      "  {0} -b 2M -e 64M -f 2 -R 1       registered memory: no copy through the library's slots\n"
      "  {0} -b 8 -e 1M -f 4 -J out.json  everything also as JSON, written when the run is over\n"
      "\nExit status\n"
      "  0 all data right; 1 wrong data; 2 an option makes no sense; 3 a call failed, the system refused, "
      "or\n"
      "  results could not be written (a run that failed writes no JSON file)\n",
      program);
  return text;
}

void declare(CLI::App* app, const Collective& collective, Typed* typed) {
  app->set_help_flag("-h,--help", "print this");
  app->add_option("-t,--nthreads", typed->threads,
                  "ranks of a process, one thread each (default 2; 1 under mpirun)")
      ->type_name("N")
      ->group("Ranks");
  app->add_flag("--pin", typed->pin,
                "bind each rank's thread to one of the CPUs allowed here (default: no binding)")
      ->group("Ranks");
  app->add_option("-b,--minbytes", typed->minBytes, "smallest size, such as 8 or 64K (default 32M, or -e)")
      ->type_name("BYTES")
      ->group("Sizes");
  app->add_option("-e,--maxbytes", typed->maxBytes, "largest size (default 32M, or -b)")
      ->type_name("BYTES")
      ->group("Sizes");
  app->add_option("-f,--stepfactor", typed->factor, "each size is the one before times this")
      ->type_name("FACTOR")
      ->group("Sizes");
  app->add_option("-i,--stepbytes", typed->step, "each size is the one before plus this (default 1M)")
      ->type_name("BYTES")
      ->group("Sizes");
  app->add_option("-d,--datatype", typed->type,
                  "int8 uint8 int32 uint32 int64 uint64 half float double\nbfloat16 f8e4m3 f8e5m2, or all "
                  "(default float)")
      ->type_name("TYPE")
      ->group("What is called");
  app->add_option(
         "-o,--op", typed->operation,
         hasOperation(collective.kind) ? "sum prod min max avg, or all (default sum)" : "not used here")
      ->type_name("OP")
      ->group("What is called");
  app->add_option("-r,--root", typed->root,
                  hasRoot(collective.kind) ? "a rank, all (one after the other), or rotate (default 0)"
                                           : "not used here")
      ->type_name("ROOT")
      ->group("What is called");
  app->add_option("--algo", typed->algorithm,
                  "force an algorithm: a name, oneshot, or a list, allreduce=ring,barrier=oneshot\n"
                  "(default: TUTTI_ALGO, read alike; else the library chooses)")
      ->type_name("NAMES")
      ->group("What is called");
  app->add_option("-R,--local_register", typed->registered,
                  "1: buffers from tuttiMemAlloc, registered with the communicator (default 0)")
      ->type_name("0|1")
      ->group("Buffers");
  app->add_option("-u,--unalign", typed->unalign,
                  "buffers begin this many elements after a page boundary (default 0)")
      ->type_name("N")
      ->group("Buffers");
  app->add_option("-n,--iters", typed->iterations,
                  "timed calls per size (default: what fits in 0.15 s, at least 3)")
      ->type_name("N")
      ->group("Measuring");
  app->add_option("-w,--warmup_iters", typed->warmups,
                  "calls before them (default 5; 1 for calls of 5 ms and more)")
      ->type_name("N")
      ->group("Measuring");
  app->add_option("-c,--check", typed->check, "0: do not check data (default 1)")
      ->type_name("0|1")
      ->group("Measuring");
  app->add_option("-T,--timeout", typed->timeout,
                  "seconds a call may take (default 0: the library's deadline)")
      ->type_name("SECONDS")
      ->group("Measuring");
  app->add_flag("--plan", typed->plan, "print the algorithm that ran beside each line")->group("Output");
  app->add_option("-J,--json", typed->json, "write everything to this file as well")
      ->type_name("FILE")
      ->group("Output");
  app->footer(footer(collective));
}

// An option that takes a value takes whatever follows, so that only the last one can be without.
std::string miscounted(const CLI::App& app, std::string_view last) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() > 0 && option->count() > 1) {
      return fmt::format("{}: given {} times, expected once", option->get_name(false, true), option->count());
    }
  }
  return fmt::format("{}: expected a value after it", last);
}

}  // namespace

int usageError(const std::string& program, const std::string& text) {
  complain(fmt::format("{0}: {1}\n{0}: nothing was run; {0} --help explains the options\n", program, text));
  return kExitUsage;
}

ParsedOptions parseOptions(const Collective& collective, int processes, bool isFirst, int argc, char** argv) {
  const std::string program = fmt::format("{}_perf", collective.name);
  Typed typed;
  CLI::App app(fmt::format("{}: {}", program, collective.about), program);
  app.get_formatter()->column_width(28);
  declare(&app, collective, &typed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return {std::nullopt, app.help(), ""};
  } catch (const CLI::ExtrasError&) {
    return {std::nullopt, "", fmt::format("{}: no such option", app.remaining().front())};
  } catch (const CLI::ArgumentMismatch&) {
    return {std::nullopt, "", miscounted(app, argv[argc - 1])};
  } catch (const CLI::ParseError& error) {
    return {std::nullopt, "", error.what()};
  }
  try {
    Options options = checked(collective, processes, isFirst, typed);
    options.command.assign(argv, argv + argc);
    return {options, "", ""};
  } catch (const Nonsense& nonsense) {
    return {std::nullopt, "", nonsense.text};
  }
}

}  // namespace tutti::bench
