// Ranks in a message: "rank 3" or "ranks 0, 1, 5-7".
#pragma once

#include <string>
#include <vector>

namespace tutti {

// `ranks` in rising order, at least one.
std::string rankList(const std::vector<int>& ranks);

}  // namespace tutti
