// The default table and the names of the settings. Only the threshold for two ranks has been measured so far (it says
// where); the others are first guesses, to be replaced by measured costs.
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

Choice automatic(const CallFacts& facts) {
  const std::uint64_t bytes = facts.count * bytesOf(facts.type);
  const bool pair = facts.nranks == 2;
  if (facts.windows) return {Algorithm::twoShotWindow, MailboxFormat::lines, 1, 0, "registered memory"};
  switch (facts.collective) {
    case Collective::barrier:
      return facts.nranks <= 4
                 ? Choice{Algorithm::oneShot, MailboxFormat::lines, 1, 0, "barrier of few ranks"}
                 : Choice{Algorithm::recursiveDoubling, MailboxFormat::lines, 1, 0, "barrier"};
    case Collective::allReduce:
      // Two ranks move equally many bytes in one shot as in a ring, in half as many steps. Measured on two
      // cores of an EPYC (Zen 4): 8 KiB 4.7 us against 5.4, 256 KiB 132 us against 142, 1 MiB level.
      if (pair && bytes <= 512 * kKiB)
        return {Algorithm::oneShot, MailboxFormat::lines, 1, 0, "two ranks: one step"};
      if (bytes <= 2 * kKiB && facts.nranks <= 8)
        return {Algorithm::oneShot, MailboxFormat::lines, 1, 0, "small: least latency"};
      if (bytes <= 2 * kKiB)
        return {Algorithm::recursiveDoubling, MailboxFormat::slots, 1, 0, "small, many ranks"};
      if (bytes <= 64 * kKiB && facts.nranks <= 8)
        return {Algorithm::twoShot, MailboxFormat::slots, 1, 0, "medium: two steps"};
      if (bytes <= 64 * kKiB)
        return {Algorithm::halvingDoubling, MailboxFormat::slots, 1, 0, "medium, many ranks"};
      return {Algorithm::ring, MailboxFormat::slots, pair ? 2 : 1, 0, "large: least bytes"};
    case Collective::broadcast:
    case Collective::reduce:
      if (bytes <= 8 * kKiB) return {Algorithm::binomial, MailboxFormat::slots, 1, 0, "small: fewest steps"};
      return {Algorithm::chain, MailboxFormat::slots, 1, 0, "large: pipelined"};
    case Collective::reduceScatter:
    case Collective::allGather:
      if (bytes <= 4 * kKiB && facts.nranks <= 8)
        return {Algorithm::oneShot,
                facts.collective == Collective::allGather ? MailboxFormat::lines : MailboxFormat::slots, 1, 0,
                "small: least latency"};
      return {Algorithm::ring, MailboxFormat::slots, 1, 0, "large: least bytes"};
  }
  return {};
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
