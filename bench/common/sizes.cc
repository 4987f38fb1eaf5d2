// Arithmetic of sizes; whatever could leave the range of size_t is computed in double first.
#include "sizes.h"

#include "number.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <cstdlib>

namespace tutti::bench {
namespace {

constexpr std::size_t kMostSizes = 10'000;

}  // namespace

std::optional<std::size_t> parseBytes(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) return std::nullopt;
  if (text.find_first_of("xXpP") != std::string::npos) return std::nullopt;  // strtod reads hexadecimal
  char* end = nullptr;
  double bytes = std::strtod(text.c_str(), &end);
  switch (std::toupper(static_cast<unsigned char>(*end))) {
    case 'K':
      bytes *= 1024.0, end++;
      break;
    case 'M':
      bytes *= 1024.0 * 1024, end++;
      break;
    case 'G':
      bytes *= 1024.0 * 1024 * 1024, end++;
      break;
    case 'T':
      bytes *= 1024.0 * 1024 * 1024 * 1024, end++;
      break;
    default:
      break;
  }
  if (std::toupper(static_cast<unsigned char>(*end)) == 'B') end++;
  if (*end != '\0' || !(bytes < 0x1p63) || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<std::size_t>(bytes);
}

Counts countsFor(const Collective& collective, const Options& options, tuttiDataType_t type) {
  const std::size_t elementBytes = bytesOf(type);
  if (options.minBytes > 0 && options.minBytes < elementBytes) {
    return {{},
            fmt::format("-b {}: smaller than one element of type {} ({} bytes)", options.minBytes,
                        typeName(type), elementBytes)};
  }
  const std::size_t blocks = totalElements(collective.kind, 1, options.ranks);
  Counts made;
  for (std::size_t bytes = options.minBytes, sizes = 0; bytes <= options.maxBytes; sizes++) {
    if (sizes == kMostSizes) {
      return {{},
              fmt::format("-b {} -e {}: more than {} sizes; use a factor (-f) or a larger step (-i)",
                          options.minBytes, options.maxBytes, kMostSizes)};
    }
    std::size_t count = bytes / elementBytes / blocks;
    if (count == 0 && bytes > 0) count = 1;
    if (made.counts.empty() || count != made.counts.back()) made.counts.push_back(count);
    const double grown = options.factor ? std::floor(static_cast<double>(bytes) * *options.factor)
                                        : static_cast<double>(bytes) + static_cast<double>(options.stepBytes);
    if (grown >= 0x1p63) break;
    const std::size_t next = static_cast<std::size_t>(grown);
    bytes = next > bytes ? next : bytes + 1;
  }
  return made;
}

}  // namespace tutti::bench
