// See rank_group.h.
#include "api/rank_group.h"

#include <chrono>
#include <thread>

#include "api/process.h"
#include "collectives/streaming.h"
#include "runtime/watch.h"

namespace tutti {
namespace {

LinkOptions linkOptionsFor(int nranks) {
  LinkOptions options;
  // Every pair of ranks has lines once it talks; many ranks have many pairs, and use lines for small messages
  // only.
  if (nranks > 16) options.lineBytes = 1024;
  return options;
}

}  // namespace

RankGroup::RankGroup(int nranksGiven, std::string text, const Settings& given, std::byte* memory)
    : nranks(nranksGiven),
      label(std::move(text)),
      settings(given),
      linkOptions(linkOptionsFor(nranks)),
      streamFrom(streamingThreshold(Process::get().machine())),
      ranks(memory, nranks),
      rollCall(ranks),
      cores(ranks.cores(), nranks) {}

// Each of them ends the piece that it works on (a megabyte at most), sees the poison word and keeps out. One that
// stands still in the middle of it is waited for as long as a call may take, and no longer.
void RankGroup::awaitWindows(int rank, std::chrono::steady_clock::time_point left) const noexcept {
  using Clock = std::chrono::steady_clock;
  for (int peer = 0; peer < nranks; ++peer) {
    const WindowUse& use = ranks.windowUse(peer);
    while (peer != rank && use.active.load(std::memory_order_seq_cst) != 0 && !isDead(peer)) {
      const Clock::duration waited = Clock::now() - left;
      if (waited > settings.timeout) return;
      if (waited < std::chrono::milliseconds(5))
        std::this_thread::yield();
      else
        nap(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace tutti
