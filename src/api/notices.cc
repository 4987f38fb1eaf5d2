// See notices.h.
#include "api/notices.h"

#include <fmt/format.h>

#include <cstdlib>

#include "api/communicator.h"
#include "api/process.h"

namespace tutti {
namespace {

template <class Text>
void once(const Log& log, Notice notice, LogLevel level, const Text& text) {
  if (log.says(level) && Process::get().isFirst(notice)) log.write(level, text());
}

Log logOfEnvironment() {
  const auto settings =
      readSettings(nullptr, [](const char* name) -> const char* { return std::getenv(name); });
  return settings.isOk() ? settings.value().log() : Settings().log();
}

int ranksHere(const RankGroup& group) {
  int ranks = 0;
  for (int rank = 0; rank < group.nranks; ++rank) ranks += group.isInThisProcess(rank) ? 1 : 0;
  return ranks;
}

// Processes may be allowed different cores, so that only the whole machine bounds them all. What a thread is bound to
// says nothing about the others'.
std::size_t coresFor(const Machine& machine, bool onlyThreads) {
  return onlyThreads ? machine.allowed.size() : machine.pus.size();
}

}  // namespace

void tellOfCommunicator(const Communicator& communicator) {
  const RankGroup& group = communicator.group();
  const Log& log = communicator.log();
  const Machine& machine = Process::get().machine();
  if (!machine.unknown.empty())
    once(log, Notice::unknownMachine, LogLevel::warning, [&] {
      return fmt::format(
          "the machine could not be read, so what fits its caches is guessed: {}. Let processes read /sys",
          machine.unknown);
    });
  if (group.rollCall.bells().costs())
    once(log, Notice::noBarriers, LogLevel::warning, [] {
      return "the system refuses membarrier(2), so that every message costs more, and ranks that have waited "
             "long wake up late. It takes Linux 4.16, and a seccomp filter of the container that allows it";
    });
  if (communicator.rank() != 0) return;
  const int here = ranksHere(group);
  log.write(LogLevel::info,
            fmt::format("communicator {}: nranks {}, {} in this process", group.label, group.nranks, here));
  once(log, Notice::machine, LogLevel::info,
       [&] { return fmt::format("this machine: {}", machine.describe()); });
  const std::size_t cores = coresFor(machine, here == group.nranks);
  if (machine.cores.empty() || static_cast<std::size_t>(group.nranks) <= cores) return;
  once(log, Notice::fewCores, LogLevel::warning, [&] {
    return fmt::format(
        "communicator {}: {} ranks share {} cores (hyperthreads count), so ranks that wait yield instead of "
        "spinning, and short calls take longer. Start at most {} ranks on this host, or let them use more "
        "cores (cpuset of the container or job)",
        group.label, group.nranks, cores, cores);
  });
}

void tellOfArena(const Arena& arena, const Settings& settings) {
  if (arena.bytes() >= Arena::kMostBytes) return;
  once(settings.log(), Notice::smallArena, LogLevel::warning, [&] {
    return fmt::format(
        "the shared memory of this process ends at {} MiB in place of {}, because its address space or the "
        "size of its files is limited. Raise the limit (ulimit -v, ulimit -f), to the same value for all "
        "ranks",
        arena.bytes() >> 20, Arena::kMostBytes >> 20);
  });
}

void tellOfSmallPages() {
  once(logOfEnvironment(), Notice::smallPages, LogLevel::info, [] {
    return "memory of tuttiMemAlloc is in small pages, because this kernel cannot collapse them (Linux 6.1 "
           "can), so that touching it for the first time takes longer";
  });
}

void tellOfPrivateMemory(const Status& why) {
  once(logOfEnvironment(), Notice::privateMemory, LogLevel::warning, [&] {
    return fmt::format(
        "tuttiMemAlloc gave memory that other processes do not see, and that cannot be registered with them: "
        "{}",
        why.message());
  });
}

void tellOfUnregisteredMemory(const Log& log, const std::string& label) {
  once(log, Notice::unregisteredMemory, LogLevel::warning, [&] {
    return fmt::format(
        "communicator {}: memory could not be registered, because other processes do not see it, and is used "
        "through slots, which is slower. Take memory of tuttiMemAlloc",
        label);
  });
}

}  // namespace tutti
