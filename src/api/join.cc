// See join.h.
#include "api/join.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/host_group.h"
#include "api/introduction.h"
#include "api/process.h"
#include "base/refused.h"
#include "runtime/rendezvous/rendezvous.h"

namespace tutti {
namespace {

// What this process sends of itself.
Result<std::vector<FileDescriptor>> ownDescriptors(const Arena& arena) {
  std::vector<FileDescriptor> own;
  own.emplace_back(fcntl(arena.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!own.back()) return refused("no copy of the arena's descriptor to send", "fcntl", errno);
  own.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!own.back()) return refused("no descriptor of this process to send", "pidfd_open", errno);
  return own;
}

// Gives the state back unless others know of it.
class State {
 public:
  explicit State(Arena& arena) : arena_(arena) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (offset_) arena_.free(*offset_);
  }

  Status make(int nranks) {
    const auto offset = arena_.allocate(HostGroup::stateBytesFor(nranks));
    if (!offset.isOk()) return offset.status();
    offset_ = offset.value();
    return Status();
  }
  std::uint64_t offset() const { return offset_.value_or(0); }
  void keep() { offset_.reset(); }

 private:
  Arena& arena_;
  std::optional<std::uint64_t> offset_;
};

// One rank on its way into a communicator.
class Joining {
 public:
  Joining(int nranks, int rank, Settings settings, Arena& arena, Service& service)
      : nranks_(nranks),
        rank_(rank),
        settings_(std::move(settings)),
        arena_(arena),
        service_(service),
        state_(arena) {}

  // What can fail before the others know of this rank.
  Status prepare() {
    if (rank_ == 0) TUTTI_TRY(state_.make(nranks_));
    auto descriptors = ownDescriptors(arena_);
    if (!descriptors.isOk()) return descriptors.status();
    Introduction own;
    own.process = Process::get().token();
    own.pid = getpid();
    own.stateAt = state_.offset();
    own.algorithm = settings_.algorithm;
    own.same = sameOnAllRanks(settings_);
    contribution_ = {own.pack(), std::move(descriptors).value()};
    return Status();
  }

  Status meet(const UniqueId& id) {
    const auto take = [this](int rank, std::string bytes, std::vector<FileDescriptor> descriptors) {
      return takeRank(rank, bytes, std::move(descriptors));
    };
    // From here on others may know of the state, so it stays, whatever comes of it.
    state_.keep();
    const Status met =
        joinRendezvous(id, rank_, nranks_, std::move(contribution_), take, settings_.initTimeout).status;
    // A failure is told to the others within half a second, which a program that ended now would cut short.
    constexpr std::chrono::milliseconds kTelling{500};
    Process::get().awaitMeeting(id.job(), met.isOk() ? settings_.initTimeout : kTelling);
    TUTTI_TRY(met);
    return compareSettings(ranks_);
  }

  Result<std::unique_ptr<Communicator>> finish(const UniqueId& id) {
    auto forced = ForcedAlgorithms::parse(ranks_[0].algorithm);
    if (!forced.isOk()) return forced.status();
    settings_.forced = forced.value();
    std::string label = settings_.name;
    if (label.empty()) {
      label = "#";
      for (std::size_t i = 0; i < 3; ++i) label += fmt::format("{:02x}", id.jobNonce()[i]);
    }
    const std::size_t locals = processes_[own()].ranks.size();
    const std::uint64_t stateAt = ranks_[0].stateAt;
    const std::span<std::byte> first = processes_[0].memory;
    if (stateAt % kApart != 0 || stateAt > first.size() ||
        first.size() - stateAt < HostGroup::stateBytesFor(nranks_))
      return Status(Code::remoteError, "rank 0 has the shared state outside its memory");
    auto group = Process::get().groups().take(id.job(), locals, [&] {
      return HostGroup::make(nranks_, label, settings_, processes_, static_cast<int>(own()), arena_, stateAt);
    });
    return std::make_unique<Communicator>(std::move(group), rank_);
  }

 private:
  std::size_t own() const { return indexOf_.at(Process::get().token()); }

  Status takeRank(int rank, const std::string& bytes, std::vector<FileDescriptor> descriptors) {
    auto introduction = Introduction::unpack(bytes);
    if (!introduction.isOk())
      return Status(introduction.status().code(),
                    fmt::format("rank {}: {}", rank, introduction.status().message()));
    const std::string& token = introduction.value().process;
    const auto [known, isNew] = indexOf_.try_emplace(token, processes_.size());
    if (isNew) {
      GroupProcess process;
      process.pid = introduction.value().pid;
      if (token == Process::get().token()) {
        process.memory = arena_.memory();
      } else {
        if (descriptors.size() != 2)
          return Status(Code::remoteError,
                        fmt::format("rank {} has sent {} descriptors, not 2", rank, descriptors.size()));
        auto peer = Process::get().peers().meet(token, std::move(descriptors[0]), std::move(descriptors[1]),
                                                service_);
        if (!peer.isOk()) return peer.status();
        process.peer = std::move(peer).value();
        process.memory = process.peer->memory();
      }
      processes_.push_back(std::move(process));
    }
    processes_[known->second].ranks.push_back(rank);
    ranks_.push_back(std::move(introduction).value());
    return Status();
  }

  const int nranks_;
  const int rank_;
  Settings settings_;
  Arena& arena_;
  Service& service_;
  State state_;
  Contribution contribution_;
  std::vector<Introduction> ranks_;
  std::map<std::string, std::size_t> indexOf_;  // of processes_, by token
  std::vector<GroupProcess> processes_;         // in the order of their first ranks
};

}  // namespace

Result<UniqueId> makeId(const Settings& settings) {
  auto id = UniqueId::make();
  if (!id.isOk()) return id.status();
  auto host = RendezvousHost::start(id.value(), settings.initTimeout);
  if (!host.isOk()) return host.status();
  Process::get().keep(id.value().job(), std::move(host).value());
  return id;
}

void decline(const UniqueId& id, int nranks, int rank, const Status& why, const Settings& settings) {
  declineRendezvous(id, rank, nranks, why, settings.initTimeout);
}

Result<std::unique_ptr<Communicator>> joinCommunicator(const UniqueId& id, int nranks, int rank,
                                                       const Settings& settings) {
  const auto declined = [&](const Status& why) {
    decline(id, nranks, rank, why, settings);
    return why;
  };
  const auto arena = Process::get().arena();
  if (!arena.isOk()) return declined(arena.status());
  const auto service = Process::get().service();
  if (!service.isOk()) return declined(service.status());
  tellOfArena(*arena.value(), settings);
  Joining joining(nranks, rank, settings, *arena.value(), *service.value());
  if (const Status ready = joining.prepare(); !ready.isOk()) return declined(ready);
  TUTTI_TRY(joining.meet(id));
  return joining.finish(id);
}

}  // namespace tutti
