// See meeting.h.
#include "runtime/rendezvous/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/rank_list.h"

namespace tutti {

std::string durationText(std::chrono::milliseconds duration) {
  return duration.count() % 1000 == 0 ? fmt::format("{} s", duration.count() / 1000)
                                      : fmt::format("{} ms", duration.count());
}

Status Meeting::admit(Member member) {
  const auto refuse = [](std::string text) { return Status(Code::invalidArgument, std::move(text)); };
  if (member.nranks < 1 || member.nranks > kMostRanks) {
    return refuse(fmt::format("rank {} (pid {}) was given {} as the number of ranks: pass 1 to {}",
                              member.rank, member.pid, member.nranks, kMostRanks));
  }
  if (nranks_ != 0 && member.nranks != nranks_) {
    return refuse(
        fmt::format("ranks of one communicator were given different numbers of ranks: {}: {}; rank {} "
                    "(pid {}): {}. Pass the same nranks on every rank",
                    nameOf(first_), nranks_, member.rank, member.pid, member.nranks));
  }
  if (member.rank < 0 || member.rank >= member.nranks) {
    return refuse(
        fmt::format("rank {} (pid {}) does not exist: a communicator of {} ranks has the ranks 0 to {}",
                    member.rank, member.pid, member.nranks, member.nranks - 1));
  }
  if (nranks_ == 0) {
    members_.resize(static_cast<std::size_t>(member.nranks));
    nranks_ = member.nranks;
    first_ = member.rank;
  } else if (isThere(member.rank)) {
    return refuse(
        fmt::format("rank {} was taken twice, by pid {} and by pid {}. Give each rank a number of its own",
                    member.rank, this->member(member.rank).pid, member.pid));
  }
  ++came_;
  Member& place = members_[static_cast<std::size_t>(member.rank)];
  place = std::move(member);
  return Status();
}

void Meeting::see(int rank, int nranks) {
  if (nranks > kMostRanks || rank < 0 || rank >= nranks) return;
  seen_.insert(rank);
  mostRanks_ = std::max(mostRanks_, nranks);
}

bool Meeting::haveAllBeenSeen() const {
  return mostRanks_ > 0 && seen_.size() == static_cast<std::size_t>(mostRanks_);
}

std::string Meeting::nameOf(int rank) const {
  return fmt::format("rank {} (pid {})", rank, member(rank).pid);
}

Status Meeting::late(std::chrono::milliseconds deadline, const std::vector<int>& silent) const {
  std::vector<int> missing;
  for (int rank = 0; rank < nranks_; ++rank) {
    if (!isThere(rank)) missing.push_back(rank);
  }
  if (!missing.empty()) {
    return Status(
        Code::timeout,
        fmt::format("{} of {} {} not come within {}. Find out why they did not start or did not get the "
                    "unique id, or raise initTimeoutMs (TUTTI_INIT_TIMEOUT_MS)",
                    rankList(missing), nranks_, missing.size() == 1 ? "has" : "have",
                    durationText(deadline)));
  }
  std::string who;
  for (const int rank : silent) who += (who.empty() ? "no answer from " : ", ") + nameOf(rank);
  return Status(
      Code::timeout,
      fmt::format("all {} ranks came, but have not met within {}: {}. A process that is "
                  "stopped or very slow looks so; or raise initTimeoutMs (TUTTI_INIT_TIMEOUT_MS)",
                  nranks_, durationText(deadline), who.empty() ? "the last answer came too late" : who));
}

Status Meeting::givenUp() const {
  return Status(
      Code::timeout,
      fmt::format("all {} ranks came, but one of them had given up before it could be told that they "
                  "have met. Look for its own message, or raise initTimeoutMs (TUTTI_INIT_TIMEOUT_MS)",
                  nranks_));
}

Status Meeting::ended(int rank) const {
  return Status(
      Code::remoteError,
      fmt::format("{} ended before all ranks had met. Look for its own message, and make a new unique id",
                  nameOf(rank)));
}

Status Meeting::failed(int rank, const Status& why) const {
  return Status(why.code(), fmt::format("{}: {}", nameOf(rank), why.message()));
}

}  // namespace tutti
