// Reading the boards and writing the verdict. Cold code: it runs when a call has stalled or gone wrong.
#include "runtime/roll_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "runtime/rank_list.h"

namespace tutti {
namespace {

// Ranks by the text of a call. Most calls are like the one before, and need no text.
class CallTexts {
 public:
  void add(int rank, const CallDescriptor& call) {
    if (ranksOfLast_ == nullptr || call != last_) {
      ranksOfLast_ = &ranks_[describe(call)];
      last_ = call;
    }
    ranksOfLast_->push_back(rank);
  }
  const std::map<std::string, std::vector<int>>& ranks() const { return ranks_; }

 private:
  std::map<std::string, std::vector<int>> ranks_;
  std::vector<int>* ranksOfLast_ = nullptr;
  CallDescriptor last_;
};

}  // namespace

// What the boards say about one call.
struct RollCall::View {
  CallTexts groups;          // ranks by the call they made
  CallTexts behind;          // are still in an earlier one
  std::vector<int> missing;  // have not come to it, and are in no other
  std::vector<int> left;     // and never will
  std::vector<int> past;     // have made it so long ago that their board has forgotten it

  bool differ() const { return groups.ranks().size() > 1; }
  bool allThere() const { return missing.empty() && behind.ranks().empty(); }

  std::string text() const {
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
    const auto addAll = [&add](const CallTexts& calls, const char* state) {
      constexpr std::size_t kMost = 16;  // of many texts nobody reads more
      std::vector<std::pair<std::vector<int>, std::string>> ordered;
      for (const auto& [call, ranks] : calls.ranks()) ordered.emplace_back(ranks, call);
      std::sort(ordered.begin(), ordered.end());
      std::size_t others = 0;
      for (std::size_t i = 0; i < ordered.size(); ++i) {
        if (i < kMost)
          add(fmt::format("{}: {}{}", rankList(ordered[i].first), state, ordered[i].second));
        else
          others += ordered[i].first.size();
      }
      if (others != 0) add(fmt::format("{} more ranks: {}other calls", others, state));
    };
    addAll(groups, "");
    addAll(behind, "still in ");
    if (!past.empty()) add(fmt::format("{}: many calls further on", rankList(past)));
    if (!missing.empty()) add(fmt::format("{}: not there yet", rankList(missing)));
    if (!left.empty()) add(fmt::format("{}: finalized or destroyed its communicator before", rankList(left)));
    return text;
  }
};

RollCall::View RollCall::look(std::uint64_t sequence) const {
  View view;
  for (int rank = 0; rank < nranks(); ++rank) {
    const Board& board = ranks_.board(rank);
    const bool gone = board.hasLeft();  // before the count: a rank that left has announced all it ever will
    const std::uint64_t finished = board.finished();
    const std::uint64_t calls = board.calls();
    if (calls <= sequence) {
      const auto earlier = calls > finished ? board.read(calls - 1) : std::nullopt;
      if (earlier)
        view.behind.add(rank, *earlier);
      else
        (gone ? view.left : view.missing).push_back(rank);
    } else if (const auto call = board.read(sequence)) {
      view.groups.add(rank, *call);
    } else {
      view.past.push_back(rank);
    }
  }
  return view;
}

std::uint64_t RollCall::firstDifference(std::uint64_t sequence) {
  const std::uint64_t oldest = sequence < Board::kLines ? 0 : sequence - Board::kLines + 1;
  std::uint64_t number = std::max(oldest, agreed_.load(std::memory_order_relaxed));
  if (number >= sequence) return sequence;
  // Asked before any call is read: a rank that comes while they are may be seen in a later call and not in an earlier.
  std::uint64_t madeByAll = sequence;
  for (int rank = 0; rank < nranks(); ++rank) madeByAll = std::min(madeByAll, ranks_.board(rank).calls());
  for (; number < sequence; ++number) {
    std::optional<CallDescriptor> first;
    for (int rank = 0; rank < nranks(); ++rank) {
      const auto call = ranks_.board(rank).read(number);
      if (!call) continue;
      if (first && *first != *call) return number;
      first = call;
    }
    // Another rank may look at the same time and store a smaller number after this, which is as true.
    if (number < madeByAll) agreed_.store(number + 1, std::memory_order_relaxed);
  }
  return sequence;
}

void RollCall::investigate(int rank, const CallDescriptor& call, bool suspicious,
                           Clock::duration stalledFor) {
  const View view = look(firstDifference(call.sequence));
  if (view.differ()) {
    if (!view.allThere() && stalledFor < kSuspicionAfter + kGrace) return;
    breakForMismatch(view);
  } else if (!view.left.empty()) {
    breakWith(
        Status(Code::remoteError, fmt::format("{} cannot complete, because not all ranks will make it. {}. "
                                              "All ranks make all calls before they finalize or destroy",
                                              describe(call), view.text())));
  } else if (suspicious && view.allThere() && stalledFor >= kSuspicionAfter + kGrace) {
    breakWith(Status(
        Code::internalError,
        fmt::format("rank {} met a message that does not belong to {}, although all "
                    "ranks made that call. Memory was overwritten, or this is a fault of tutti: report it",
                    rank, describe(call))));
  }
}

void RollCall::breakForMismatch(const View& view) {
  breakWith(Status(Code::mismatch, fmt::format("ranks made different calls where all must make the same. {}. "
                                               "Make the calls equal, then build a new communicator",
                                               view.text())));
}

void RollCall::compareLast(const CallDescriptor& last) {
  for (int rank = 0; rank < nranks(); ++rank) {
    const auto call = ranks_.board(rank).read(last.sequence);
    if (call && *call != last) return breakForMismatch(look(last.sequence));
  }
}

void RollCall::giveUp(int rank, const CallDescriptor& call, std::chrono::milliseconds deadline) {
  const View view = look(firstDifference(call.sequence));
  std::vector<int> absent = view.missing;
  absent.insert(absent.end(), view.left.begin(), view.left.end());
  std::string who = !absent.empty() ? fmt::format("Missing: {}", rankList(absent))
                    : view.behind.ranks().empty()
                        ? "All ranks made the call but the data stopped moving: a rank is frozen or very slow"
                        : "All ranks are in this call or an earlier one, but a rank is frozen or very slow";
  breakWith(Status(view.differ() ? Code::mismatch : Code::timeout,
                   fmt::format("{} did not complete within {} ms on rank {}. {}. Seen: {}. Find out "
                               "why they did not come, or raise timeoutMs (TUTTI_TIMEOUT_MS)",
                               describe(call), deadline.count(), rank, who, view.text())));
}

}  // namespace tutti
