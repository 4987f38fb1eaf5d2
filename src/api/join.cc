// See join.h.
#include "api/join.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/host_group.h"
#include "api/introduction.h"
#include "api/process.h"
#include "base/refused.h"
#include "runtime/process_name.h"
#include "runtime/rendezvous/rendezvous.h"

namespace tutti {
namespace {

// For ranks that have not come when there is a failure to tell, if they meet in this process.
constexpr std::chrono::milliseconds kHearing{500};

// What this process sends of itself.
Result<std::vector<FileDescriptor>> ownDescriptors(const Arena& arena) {
  std::vector<FileDescriptor> own;
  own.reserve(2);
  own.emplace_back(fcntl(arena.descriptor(), F_DUPFD_CLOEXEC, 0));
  if (!own.back()) return refused("no copy of the arena's descriptor to send", "fcntl", errno);
  own.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (!own.back()) return refused("no descriptor of this process to send", "pidfd_open", errno);
  return own;
}

// Gives the state back unless the others use it.
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
  Joining(const UniqueId& id, int nranks, int rank, const Settings& settings, Arena& arena, Service& service)
      : id_(id),
        job_(id.job()),
        nranks_(nranks),
        rank_(rank),
        settings_(settings),
        arena_(arena),
        service_(service),
        place_(Process::get().groups(), job_),
        state_(arena) {}

  // What can fail before the others know of this rank.
  Status prepare() {
    const auto& token = Process::get().token();
    if (!token.isOk()) return token.status();
    token_ = token.value();
    if (rank_ == 0) TUTTI_TRY(state_.make(nranks_));
    auto descriptors = ownDescriptors(arena_);
    if (!descriptors.isOk()) return descriptors.status();
    Introduction own;
    own.process = token_;
    own.pid = getpid();
    own.stateAt = state_.offset();
    own.algorithm = settings_.algorithm;
    own.same = sameOnAllRanks(settings_);
    contribution_ = {own.pack(), std::move(descriptors).value()};
    return Status();
  }

  Status meet() {
    const auto take = [this](int rank, std::string bytes, std::vector<FileDescriptor> descriptors) {
      return takeRank(rank, bytes, std::move(descriptors));
    };
    Status agreed =
        joinRendezvous(id_, rank_, nranks_, std::move(contribution_), take, settings_.initTimeout);
    const bool haveMet = agreed.isOk();
    try {
      if (haveMet) agreed = agree();
    } catch (const std::bad_alloc&) {  // no words for what differs
      agreed = Status::outOfMemory();
    }
    // Nobody touches the state before it knows that all have met and agree.
    if (agreed.isOk()) state_.keep();
    Process::get().awaitMeeting(job_, haveMet ? settings_.initTimeout : kHearing);
    return agreed;
  }

  // The others have the communicator already: what goes wrong here they learn as its first cause.
  Result<std::unique_ptr<Communicator>> finish() {
    std::shared_ptr<HostGroup> group;
    try {
      group = place_.take([this] { return makeGroup(); });
      if (group != nullptr) return std::make_unique<Communicator>(group, rank_, settings_.log());
    } catch (const std::bad_alloc&) {
    }
    Status why = outOfMemory();
    if (group != nullptr)
      group->miss(rank_, why);
    else
      HostGroup::miss(state(), nranks_, rank_, why);
    return why;
  }

 private:
  int own() const { return static_cast<int>(indexOf_.at(token_)); }
  std::byte* state() const { return processes_[0].memory.data() + ranks_[0].stateAt; }

  // What all ranks find alike; takes memory only where they do not.
  Status agree() {
    TUTTI_TRY(compareSettings(ranks_));
    auto forced = ForcedAlgorithms::parse(ranks_[0].algorithm);
    if (!forced.isOk()) return forced.status();
    settings_.forced = forced.value();
    const std::uint64_t stateAt = ranks_[0].stateAt;
    const std::size_t bytes = processes_[0].memory.size();
    if (stateAt % kApart != 0 || stateAt > bytes || bytes - stateAt < HostGroup::stateBytesFor(nranks_))
      return Status(Code::remoteError, "rank 0 has the shared state outside its memory");
    return Status();
  }

  std::shared_ptr<HostGroup> makeGroup() const {
    const UniqueId::JobNonce& job = id_.jobNonce();
    std::string label =
        settings_.name.empty() ? fmt::format("#{:02x}{:02x}{:02x}", job[0], job[1], job[2]) : settings_.name;
    return HostGroup::make(nranks_, std::move(label), settings_, processes_, own(), arena_,
                           ranks_[0].stateAt);
  }

  Status outOfMemory() const {
    try {
      return Status(Code::systemError, fmt::format("rank {} ran out of memory at the end of its init. Free "
                                                   "memory, and make a new communicator",
                                                   rank_));
    } catch (const std::bad_alloc&) {
      return Status::outOfMemory();
    }
  }

  Status takeRank(int rank, const std::string& bytes, std::vector<FileDescriptor> descriptors) {
    auto introduction = Introduction::unpack(bytes);
    if (!introduction.isOk())
      return Status(introduction.status().code(),
                    fmt::format("rank {}: {}", rank, introduction.status().message()));
    ranks_.push_back(std::move(introduction).value());
    if (ranks_.back().version != libraryVersion()) return Status();  // agree() says so
    const std::string& token = ranks_.back().process;
    const auto [known, isNew] = indexOf_.try_emplace(token, processes_.size());
    if (isNew) {
      GroupProcess process;
      if (token == token_) {
        process.memory = arena_.memory();
      } else {
        if (descriptors.size() != 2)
          return Status(Code::remoteError,
                        fmt::format("rank {} has sent {} descriptors, not 2", rank, descriptors.size()));
        process.name = processName(ranks_.back().pid, pidSeen(descriptors[1].get()));
        auto peer = Process::get().peers().meet(token, std::move(descriptors[0]), std::move(descriptors[1]),
                                                service_);
        if (!peer.isOk()) return peer.status();
        process.peer = std::move(peer).value();
        process.memory = process.peer->memory();
      }
      processes_.push_back(std::move(process));
    }
    processes_[known->second].ranks.push_back(rank);
    return Status();
  }

  const UniqueId& id_;
  const std::string job_;
  const int nranks_;
  const int rank_;
  Settings settings_;
  Arena& arena_;
  Service& service_;
  SharedGroups::Place place_;
  State state_;
  std::string token_;  // of this process
  Contribution contribution_;
  std::vector<Introduction> ranks_;
  std::map<std::string, std::size_t> indexOf_;  // of processes_, by token
  std::vector<GroupProcess> processes_;         // in the order of their first ranks
};

// All that can fail before others know of the rank.
Status prepare(std::optional<Joining>& joining, const UniqueId& id, int nranks, int rank,
               const Settings& settings) {
  const auto arena = Process::get().arena();
  if (!arena.isOk()) return arena.status();
  const auto service = Process::get().service();
  if (!service.isOk()) return service.status();
  tellOfArena(*arena.value(), settings);
  joining.emplace(id, nranks, rank, settings, *arena.value(), *service.value());
  return joining->prepare();
}

// Of unique ids that wait for their ranks: each has a thread.
constexpr std::size_t kMostIds = 1024;

Status tooManyIds(std::size_t most, rlim_t files) {
  if (most == kMostIds)
    return Status(Code::systemError,
                  fmt::format("{} unique ids of this process wait for their ranks, the most "
                              "that it may have. Let ranks join by them",
                              most));
  return Status(
      Code::systemError,
      fmt::format("{} unique ids of this process wait for their ranks, the most that its limit on open "
                  "files of {} allows. Let ranks join by them, or raise the limit (ulimit -n; {} ids "
                  "at most)",
                  most, files, kMostIds));
}

}  // namespace

// Ids that wait for their ranks leave the program half of its descriptors.
Result<UniqueId> makeId(const Settings& settings) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const std::size_t most =
      std::clamp<std::size_t>(files.rlim_cur / 2 / RendezvousHost::kDescriptors, 1, kMostIds);
  auto id = UniqueId::make();
  if (!id.isOk()) return id;
  Process& process = Process::get();
  for (const auto ended : {&RendezvousHost::isOver, &RendezvousHost::hasFailed}) {
    process.endMeetings(ended);
    const auto served = process.serve(id.value(), most, settings.initTimeout);
    if (!served.isOk()) return served.status();
    if (served.value()) return id;
  }
  return tooManyIds(most, files.rlim_cur);
}

void decline(const UniqueId& id, int nranks, int rank, const Status& why, const Settings& settings) noexcept {
  tellDecline(id, nranks, rank, why, settings.initTimeout);
  awaitHearing(id, endOfHearing());
}

void tellDecline(const UniqueId& id, int nranks, int rank, const Status& why,
                 std::chrono::milliseconds limit) noexcept {
  try {
    declineRendezvous(id, rank, nranks, why, limit);
  } catch (const std::bad_alloc&) {
  }
}

void awaitHearing(const UniqueId& id, std::chrono::steady_clock::time_point end) noexcept {
  try {
    Process::get().awaitMeeting(id.job(), std::chrono::duration_cast<std::chrono::milliseconds>(
                                              end - std::chrono::steady_clock::now()));
  } catch (const std::bad_alloc&) {
  }
}

std::chrono::steady_clock::time_point endOfHearing() {
  return std::chrono::steady_clock::now() + kHearing;
}

Result<std::unique_ptr<Communicator>> joinCommunicator(const UniqueId& id, int nranks, int rank,
                                                       const Settings& settings) {
  std::optional<Joining> joining;
  Status ready;
  try {
    ready = prepare(joining, id, nranks, rank, settings);
  } catch (const std::bad_alloc&) {
    ready = Status::outOfMemory();
  }
  if (!ready.isOk()) {
    joining.reset();  // it may hold descriptors
    decline(id, nranks, rank, ready, settings);
    return ready;
  }
  TUTTI_TRY(joining->meet());
  return joining->finish();
}

}  // namespace tutti
