// See rank_list.h.
#include "runtime/rank_list.h"

#include <fmt/format.h>

#include <cstddef>

namespace tutti {

std::string rankList(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (i != 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (last > i + 1) {
      text += fmt::format("-{}", ranks[last]);
      i = last + 1;
    } else {
      ++i;
    }
  }
  return text;
}

}  // namespace tutti
