// Completes the entries of a list that name no collective.
#include "forced.h"

namespace tutti::bench {
namespace {

// As TUTTI_ALGO spells it.
const char* settingName(Kind kind) {
  switch (kind) {
    case Kind::allReduce:
      return "allreduce";
    case Kind::broadcast:
      return "broadcast";
    case Kind::reduce:
      return "reduce";
    case Kind::reduceScatter:
      return "reducescatter";
    case Kind::allGather:
      return "allgather";
  }
  return "";
}

}  // namespace

std::string forcedAlgorithms(Kind kind, std::string_view text) {
  std::string forced;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view entry = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (!forced.empty()) forced += ',';
    if (entry.find('=') == std::string_view::npos) forced.append(settingName(kind)).append("=");
    forced += entry;
  }
  return forced;
}

}  // namespace tutti::bench
