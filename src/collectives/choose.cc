// The default table and the names of the settings. Two ranks were measured with a core each, four and eight on two
// cores, where only the work counts and not how many steps follow each other (build/bench/micro/choice_bench, a
// Sapphire Rapids, 2026-11-30); more than eight ranks are first guesses.
#include "collectives/choose.h"

#include <fmt/format.h>

#include <array>

namespace tutti {
namespace {

constexpr std::array<const char*, kCollectives> kCollectiveNames = {"allreduce",     "broadcast", "reduce",
                                                                    "reducescatter", "allgather", "barrier"};
constexpr std::array<const char*, kAlgorithms> kAlgorithmNames = {
    "none",     "ring",  "oneshot",    "twoshot",           "twoshotwindow",
    "binomial", "chain", "doubletree", "recursivedoubling", "halvingdoubling"};

template <std::size_t n>
std::string listed(const std::array<const char*, n>& names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

template <std::size_t n>
int indexOf(const std::array<const char*, n>& names, std::string_view name) {
  for (std::size_t i = 0; i < n; ++i) {
    if (name == names[i]) return static_cast<int>(i);
  }
  return -1;
}

// Lines need a closed schedule whose messages all fit; these are the ones worth it.
bool usesLines(Algorithm algorithm, Collective collective) {
  return algorithm == Algorithm::oneShot
             ? !isRooted(collective)
             : algorithm == Algorithm::twoShotWindow ||
                   (algorithm == Algorithm::recursiveDoubling && collective != Collective::allGather);
}

// The largest message of a direct schedule on lines, in bytes.
std::uint64_t lineMessageBytes(const CallFacts& facts, Algorithm algorithm) {
  std::uint64_t bytes = facts.count * bytesOf(facts.type);
  if (algorithm == Algorithm::recursiveDoubling) {
    // Partials travel, and an all-gather's last message holds half of everything.
    if (reduces(facts.collective)) bytes = facts.count * accumulationBytesOf(facts.type, facts.operation);
    if (facts.collective == Collective::allGather) bytes *= static_cast<std::uint64_t>(facts.nranks);
  }
  return bytes;
}

constexpr std::uint64_t kKiB = 1024;
constexpr int kFewRanks = 8;

Choice lines(Algorithm algorithm, const char* reason) {
  return {algorithm, MailboxFormat::lines, 1, 0, reason};
}
Choice slots(Algorithm algorithm, int channels, const char* reason) {
  return {algorithm, MailboxFormat::slots, channels, 0, reason};
}

// Two ranks: all algorithms move the same bytes, so what counts is steps, and for large messages that two
// slots are under way at once.
Choice ofPair(Collective collective, std::uint64_t bytes) {
  switch (collective) {
    case Collective::barrier:
      return lines(Algorithm::oneShot, "barrier of few ranks");
    case Collective::allReduce:
      return bytes <= 1024 * kKiB ? lines(Algorithm::oneShot, "two ranks: one step")
                                  : slots(Algorithm::ring, 2, "large: least bytes");
    case Collective::broadcast:
    case Collective::reduce:
      // 256 KiB: two channels 21 us, one 28.
      return bytes <= 32 * kKiB ? slots(Algorithm::binomial, 1, "small: fewest steps")
                                : slots(Algorithm::chain, 2, "large: pipelined");
    case Collective::reduceScatter:
    case Collective::allGather:
      // A ring sends before it copies its own part: 8 B 0.18 us, one-shot 0.24.
      return bytes <= 2 * kKiB ? lines(Algorithm::ring, "small: least latency")
                               : slots(Algorithm::ring, 1, "large: least bytes");
  }
  return {};
}

Choice ofFew(Collective collective, std::uint64_t bytes, bool powerOfTwo) {
  switch (collective) {
    case Collective::barrier:
      return lines(Algorithm::oneShot, "barrier of few ranks");
    case Collective::allReduce:
      if (bytes <= kKiB / 2) return lines(Algorithm::oneShot, "small: least latency");
      if (bytes <= 16 * kKiB) return slots(Algorithm::recursiveDoubling, 1, "medium: few messages");
      return slots(Algorithm::twoShot, 1, "large: least bytes in two steps");
    case Collective::broadcast:
    case Collective::reduce:
      return bytes <= 8 * kKiB ? slots(Algorithm::binomial, 1, "small: fewest steps")
                               : slots(Algorithm::chain, 1, "large: pipelined");
    case Collective::reduceScatter:
      return bytes <= 2 * kKiB ? lines(Algorithm::oneShot, "small: least latency")
                               : slots(Algorithm::ring, 1, "large: least bytes");
    case Collective::allGather:
      if (bytes <= kKiB / 2) return lines(Algorithm::oneShot, "small: least latency");
      return powerOfTwo ? slots(Algorithm::recursiveDoubling, 1, "large: few messages")
                        : slots(Algorithm::ring, 1, "large: least bytes");
  }
  return {};
}

Choice ofMany(Collective collective, std::uint64_t bytes) {
  switch (collective) {
    case Collective::barrier:
      return lines(Algorithm::recursiveDoubling, "barrier");
    case Collective::allReduce:
      if (bytes <= 2 * kKiB) return slots(Algorithm::recursiveDoubling, 1, "small, many ranks");
      if (bytes <= 64 * kKiB) return slots(Algorithm::halvingDoubling, 1, "medium, many ranks");
      return slots(Algorithm::ring, 1, "large: least bytes");
    case Collective::broadcast:
    case Collective::reduce:
      return bytes <= 8 * kKiB ? slots(Algorithm::binomial, 1, "small: fewest steps")
                               : slots(Algorithm::chain, 1, "large: pipelined");
    case Collective::reduceScatter:
    case Collective::allGather:
      return slots(Algorithm::ring, 1, "many ranks: least bytes");
  }
  return {};
}

Choice automatic(const CallFacts& facts) {
  if (facts.windows) return lines(Algorithm::twoShotWindow, "registered memory");
  const std::uint64_t bytes = facts.count * bytesOf(facts.type);
  if (facts.nranks == 2) return ofPair(facts.collective, bytes);
  if (facts.nranks <= kFewRanks)
    return ofFew(facts.collective, bytes, (facts.nranks & (facts.nranks - 1)) == 0);
  return ofMany(facts.collective, bytes);
}

}  // namespace

const char* settingNameOf(Collective collective) {
  return kCollectiveNames[static_cast<std::size_t>(collective)];
}
const char* settingNameOf(Algorithm algorithm) {
  return kAlgorithmNames[static_cast<std::size_t>(algorithm)];
}

Result<ForcedAlgorithms> ForcedAlgorithms::parse(std::string_view text) {
  ForcedAlgorithms forced;
  const auto algorithmOf = [](std::string_view name) -> Result<Algorithm> {
    const int index = indexOf(kAlgorithmNames, name);
    if (index <= 0)
      return Status(Code::invalidArgument,
                    fmt::format("unknown algorithm '{}' in TUTTI_ALGO or the config's algorithm; "
                                "known are {}",
                                name, listed(kAlgorithmNames).substr(sizeof("none, ") - 1)));
    return static_cast<Algorithm>(index);
  };
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    const std::size_t equals = item.find('=');
    const auto algorithm = algorithmOf(equals == std::string_view::npos ? item : item.substr(equals + 1));
    if (!algorithm.isOk()) return algorithm.status();
    if (equals == std::string_view::npos) {
      for (auto& entry : forced.forced_) entry = algorithm.value();
      continue;
    }
    const int collective = indexOf(kCollectiveNames, item.substr(0, equals));
    if (collective < 0)
      return Status(Code::invalidArgument,
                    fmt::format("unknown collective '{}' in TUTTI_ALGO or the config's algorithm; "
                                "known are {}",
                                item.substr(0, equals), listed(kCollectiveNames)));
    forced.forced_[collective] = algorithm.value();
  }
  return forced;
}

Result<Choice> choose(const PlanTable& table, const CallFacts& facts) {
  if (facts.nranks == 1) return Choice{Algorithm::none, MailboxFormat::slots, 1, 0, "one rank"};
  Choice choice;
  if (const auto forced = table.forced.of(facts.collective)) {
    if (!serves(*forced, facts.collective, facts.nranks))
      return Status(Code::invalidArgument,
                    fmt::format("algorithm {} is forced but cannot serve {} over {} ranks",
                                settingNameOf(*forced), nameOf(facts.collective), facts.nranks));
    if (*forced == Algorithm::twoShotWindow && !facts.windows)
      return Status(
          Code::invalidArgument,
          fmt::format("algorithm twoshotwindow is forced but not all buffers of this {} lie in memory "
                      "registered with tuttiCommRegister on every rank",
                      nameOf(facts.collective)));
    choice = {*forced, usesLines(*forced, facts.collective) ? MailboxFormat::lines : MailboxFormat::slots, 1,
              0, "forced"};
  } else {
    choice = automatic(facts);
  }
  if (choice.format == MailboxFormat::lines && choice.algorithm != Algorithm::twoShotWindow &&
      lineMessageBytes(facts, choice.algorithm) > table.lineBytes)
    choice.format = MailboxFormat::slots;
  return choice;
}

bool wantsWindows(const PlanTable& table, const CallFacts& facts) {
  if (facts.nranks == 1 || facts.collective == Collective::barrier) return false;
  if (const auto forced = table.forced.of(facts.collective)) return *forced == Algorithm::twoShotWindow;
  return facts.count * bytesOf(facts.type) > 1024;  // below, one-shot over lines costs less than the exchange
}

}  // namespace tutti
