// See introduction.h. A list of texts, each behind its length in 4 bytes, little-endian; the version is the first.
#include "api/introduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "runtime/rank_list.h"
#include "tutti/tutti.h"

namespace tutti {
namespace {

constexpr std::size_t kLengthBytes = 4;

void append(std::string& bytes, const std::string& text) {
  for (std::size_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>(text.size() >> 8 * i);
  bytes += text;
}

// The text at `at`, which moves behind it; none where there is no whole one.
std::optional<std::string> textAt(const std::string& bytes, std::size_t& at) {
  if (bytes.size() - at < kLengthBytes) return {};
  std::size_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[at + i])) << 8 * i;
  at += kLengthBytes;
  if (bytes.size() - at < length) return {};
  at += length;
  return bytes.substr(at - length, length);
}

bool isVersion(const std::string& text) {
  return !text.empty() && text.size() < 32 && text.find_first_not_of("0123456789.") == std::string::npos;
}

template <class Number>
bool parse(const std::string& text, Number& number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

constexpr std::size_t kFixedTexts = 4;

}  // namespace

std::string libraryVersion() {
  return fmt::format("{}.{}.{}", TUTTI_MAJOR, TUTTI_MINOR, TUTTI_PATCH);
}

std::string Introduction::pack() const {
  std::string bytes;
  append(bytes, version);
  append(bytes, process);
  append(bytes, std::to_string(pid));
  append(bytes, std::to_string(stateAt));
  append(bytes, algorithm);
  for (const auto& [setting, value] : same) {
    append(bytes, setting);
    append(bytes, value);
  }
  return bytes;
}

Result<Introduction> Introduction::unpack(const std::string& bytes) {
  const Status garbage(Code::remoteError, "it speaks as no rank of any version of the library does");
  Introduction rank;
  std::size_t at = 0;
  const auto version = textAt(bytes, at);
  if (!version || !isVersion(*version)) return garbage;
  rank.version = *version;
  if (rank.version != libraryVersion()) return rank;  // what follows may be anything
  std::vector<std::string> texts;
  while (at != bytes.size()) {
    const auto text = textAt(bytes, at);
    if (!text) return garbage;
    texts.push_back(*text);
  }
  if (texts.size() < kFixedTexts || texts.size() % 2 != 0 || texts[0].empty() || !parse(texts[1], rank.pid) ||
      !parse(texts[2], rank.stateAt))
    return garbage;
  rank.process = texts[0];
  rank.algorithm = texts[3];
  for (std::size_t i = kFixedTexts; i < texts.size(); i += 2) rank.same.emplace_back(texts[i], texts[i + 1]);
  return rank;
}

std::vector<std::pair<std::string, std::string>> sameOnAllRanks(const Settings& settings) {
  return {
      {"timeoutMs (TUTTI_TIMEOUT_MS)", std::to_string(settings.timeout.count())},
      {"wire (TUTTI_WIRE)", std::to_string(settings.wire)},
      {"name", settings.name},
  };
}

Status compareSettings(const std::vector<Introduction>& ranks) {
  // First, because it takes no memory: who runs out of it here fails as all others do.
  if (std::all_of(ranks.begin(), ranks.end(), [&](const Introduction& rank) {
        return rank.version == ranks[0].version && rank.same == ranks[0].same;
      }))
    return Status();
  std::map<std::string, std::vector<int>> byVersion;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    byVersion[ranks[rank].version].push_back(static_cast<int>(rank));
  if (byVersion.size() > 1) {
    std::string text;
    for (const auto& [version, own] : byVersion)
      text += fmt::format("{}{} {} tutti {}", text.empty() ? "" : ", ", rankList(own),
                          own.size() == 1 ? "runs" : "run", version);
    return Status(Code::invalidArgument, text + ": use one version in all processes");
  }
  for (std::size_t s = 0; s < ranks[0].same.size(); ++s) {
    std::map<std::string, std::vector<int>> byValue;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      const auto& same = ranks[rank].same;
      const bool known = s < same.size() && same[s].first == ranks[0].same[s].first;
      byValue[known ? fmt::format("'{}'", same[s].second) : "another list of settings"].push_back(
          static_cast<int>(rank));
    }
    if (byValue.size() == 1) continue;
    std::string text;
    for (const auto& [value, own] : byValue)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", rankList(own), value);
    return Status(Code::invalidArgument,
                  fmt::format("{} has to be the same on all ranks. {}", ranks[0].same[s].first, text));
  }
  return Status();
}

}  // namespace tutti
