// See host_group.h.
#include "api/host_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/process.h"
#include "runtime/rank_list.h"

namespace tutti {
namespace {

std::size_t ranksBytes(int nranks) {
  return SharedRanks::bytesFor(nranks);
}

}  // namespace

std::size_t HostGroup::stateBytesFor(int nranks) {
  return ranksBytes(nranks) + LinkDirectory::bytesFor(nranks);
}

HostGroup::HostGroup(int nranks, std::string label, const Settings& settings,
                     std::vector<GroupProcess> processes, int own, Arena& arena, std::uint64_t stateAt)
    : RankGroup(nranks, std::move(label), settings, processes[0].memory.data() + stateAt),
      processes_(std::move(processes)),
      own_(own),
      arena_(arena),
      stateAt_(stateAt),
      processOf_(static_cast<std::size_t>(nranks)),
      windows_(static_cast<std::size_t>(nranks)),
      directory_(processes_[0].memory.data() + stateAt + ranksBytes(nranks), nranks) {
  made_.reserve(processes_[static_cast<std::size_t>(own_)].ranks.size());
  for (std::size_t p = 0; p < processes_.size(); ++p) {
    arenas_.push_back(processes_[p].memory);
    for (int rank : processes_[p].ranks) {
      processOf_[static_cast<std::size_t>(rank)] = static_cast<int>(p);
      windows_[static_cast<std::size_t>(rank)] = processes_[p].memory;
    }
  }
}

std::shared_ptr<HostGroup> HostGroup::make(int nranks, std::string label, const Settings& settings,
                                           std::vector<GroupProcess> processes, int own, Arena& arena,
                                           std::uint64_t stateAt) {
  std::shared_ptr<HostGroup> group(
      new HostGroup(nranks, std::move(label), settings, std::move(processes), own, arena, stateAt));
  for (std::size_t p = 0; p < group->processes_.size(); ++p) {
    const std::shared_ptr<Peer>& peer = group->processes_[p].peer;
    if (peer == nullptr) continue;
    peer->whenEnded(group, [weak = std::weak_ptr(group), p] {
      if (const auto alive = weak.lock()) alive->processEnded(p);
    });
  }
  return group;
}

std::unique_ptr<LinkSource> HostGroup::linksOf(int rank) {
  SharedLinksSetup setup{directory_, rank, processOf_, arenas_, &arena_, linkOptions};
  return std::make_unique<SharedLinks>(setup);
}

void HostGroup::end(int, LinkSource& links) noexcept {
  oneGone(static_cast<SharedLinks&>(links).close());
}

void HostGroup::oneGone(std::vector<std::uint64_t> made) noexcept {
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    made_.push_back(std::move(made));
    all = made_.size() == processes_[static_cast<std::size_t>(own_)].ranks.size();
  }
  if (all) Process::get().bury(shared_from_this());
}

void HostGroup::miss(int rank, const Status& why) noexcept {
  rollCall.breakWith(why);
  rollCall.board(rank).leave();
  directory_.leave(rank);
  oneGone({});
}

// In the process of rank 0 the state stays taken: there is nobody to see that all have forgotten it.
void HostGroup::miss(std::byte* state, int nranks, int rank, const Status& why) noexcept {
  RollCall rollCall(SharedRanks(state, nranks));
  rollCall.breakWith(why);
  rollCall.board(rank).leave();
  LinkDirectory directory(state + ranksBytes(nranks), nranks);
  directory.leave(rank);
  directory.forget(rank);
}

bool HostGroup::canBeWindow(const void* begin, std::size_t bytes) const {
  return bytes == 0 || arena_.offsetOf(begin, bytes).has_value();
}

bool HostGroup::isDead(int rank) const {
  const std::shared_ptr<Peer>& peer =
      processes_[static_cast<std::size_t>(processOf_[static_cast<std::size_t>(rank)])].peer;
  return peer != nullptr && peer->isDead();
}

void HostGroup::processEnded(std::size_t process) {
  const std::lock_guard lock(mutex_);
  if (forgot_) return;  // what was shared may be somebody else's by now
  const GroupProcess& ended = processes_[process];
  const bool hadLeft = std::all_of(ended.ranks.begin(), ended.ranks.end(),
                                   [this](int rank) { return ranks.board(rank).hasLeft(); });
  if (!hadLeft) {
    try {
      rollCall.breakWith(Status(
          Code::remoteError,
          fmt::format("{} gone: process {} of this host has ended without "
                      "tuttiCommDestroy (it crashed, was killed, or left main). Make a new communicator "
                      "without it",
                      rankList(ended.ranks) + (ended.ranks.size() == 1 ? " is" : " are"), ended.name)));
    } catch (const std::bad_alloc&) {
      rollCall.breakOutOfMemory();
    }
  }
  for (int rank : ended.ranks) directory_.forget(rank);
}

bool HostGroup::sweep() {
  const std::lock_guard lock(mutex_);
  if (!forgot_) {
    if (!directory_.allLeft()) return false;
    for (const auto& ofRank : made_) {
      for (std::uint64_t offset : ofRank) arena_.free(offset);
    }
    made_.clear();
    for (int rank : processes_[static_cast<std::size_t>(own_)].ranks) directory_.forget(rank);
    forgot_ = own_ != 0;
    if (forgot_) return true;
  }
  if (!directory_.allForgot()) return false;
  forgot_ = true;
  arena_.free(stateAt_);
  return true;
}

}  // namespace tutti
