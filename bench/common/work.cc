// Adds up counts and memory of all types before anything is allocated.
#include "work.h"

#include "buffer.h"
#include "machine.h"
#include "number.h"
#include "sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tutti::bench {

Work planWork(const Collective& collective, const Options& options) {
  Work work;
  std::size_t mostReceived = 0;
  for (tuttiDataType_t type : options.types) {
    Counts counts = countsFor(collective, options, type);
    if (!counts.error.empty()) {
      work.error = counts.error;
      return work;
    }
    const std::size_t largest = counts.counts.back();
    const std::size_t bytes = bytesOf(type);
    work.sendBytes = std::max(work.sendBytes, sendElements(collective.kind, largest, options.ranks) * bytes);
    work.recvBytes = std::max(work.recvBytes, totalElements(collective.kind, largest, options.ranks) * bytes);
    work.offset = std::max(work.offset, options.unalign * bytes);
    mostReceived = std::max(mostReceived, recvElements(collective.kind, largest, options.ranks));
    work.counts.push_back(std::move(counts.counts));
  }
  // Sizes are below 2^63 and ranks below 2^11: computed in long double, the sum cannot overflow.
  const long double needed = (static_cast<long double>(Buffer::footprint(work.sendBytes, work.offset)) +
                              static_cast<long double>(Buffer::footprint(work.recvBytes, work.offset))) *
                             options.ranks;
  const std::size_t available = availableMemoryBytes();
  const std::size_t footprint = needed < 0x1p64L ? static_cast<std::size_t>(needed) : SIZE_MAX;
  if (footprint > available) {
    work.error = fmt::format(
        "-e {} with {} ranks: needs {:.1f} MiB for buffers, {:.1f} MiB are available; use smaller sizes "
        "or fewer ranks",
        options.maxBytes, options.ranks, static_cast<double>(needed / 0x1p20L),
        static_cast<double>(available) / 0x1p20);
  } else if (options.flip && options.flip->index >= mostReceived) {
    work.error = fmt::format("TUTTI_PERF_FLIP: no call receives an element {}", options.flip->index);
  }
  return work;
}

}  // namespace tutti::bench
