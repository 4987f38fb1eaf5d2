// Making, asking and ending communicators.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "api/boundary.h"
#include "api/communicator.h"
#include "api/group.h"
#include "api/join.h"
#include "api/local_group.h"
#include "api/publish.h"
#include "runtime/rendezvous/meeting.h"

namespace tutti {
namespace {

// Of one communicator over processes: its shared state has n * n entries for links.
constexpr int kMostHostRanks = Meeting::kMostRanks;

Result<Settings> settingsOf(const tuttiConfig_t* config) {
  auto settings = readSettings(config, [](const char* name) -> const char* { return std::getenv(name); });
  if (settings.isOk() && settings.value().memoryBudget != Settings().memoryBudget)
    return Status(Code::notSupported,
                  "memoryBudgetBytes (TUTTI_MEMORY_BUDGET) is not built yet: leave it unset");
  return settings;
}

Status initAll(tuttiComm_t* comms, int nranks, const int* devices, const tuttiConfig_t* config) {
  if (comms == nullptr)
    return Status(Code::invalidArgument, "comms is NULL; wanted: room for nranks handles");
  constexpr int kMostRanks = HandleTable::kSlots;
  if (nranks < 1 || nranks > kMostRanks)
    return Status(Code::invalidArgument, fmt::format("nranks is {}; wanted: 1 to {}", nranks, kMostRanks));
  if (Group::isOpenHere())
    return Status(Code::invalidUsage,
                  "tuttiCommInitAll makes all ranks at once and does not stand in a group");
  for (int rank = 0; devices != nullptr && rank < nranks; ++rank) {
    if (devices[rank] == TUTTI_DEVICE_HOST) continue;
    if (devices[rank] < 0)
      return Status(Code::invalidArgument,
                    fmt::format("devices[{}] is {}; wanted: TUTTI_DEVICE_HOST (-1) or a CUDA ordinal", rank,
                                devices[rank]));
    return Status(Code::notSupported,
                  fmt::format("devices[{}] is {}, but device communicators are not built yet: use "
                              "TUTTI_DEVICE_HOST",
                              rank, devices[rank]));
  }
  const auto settings = settingsOf(config);
  if (!settings.isOk()) return settings.status();

  Process& process = Process::get();
  std::string label = settings.value().name;
  if (label.empty()) label = fmt::format("#{}", process.nextNumber());
  const auto group = LocalGroup::make(nranks, label, settings.value());
  if (!group.isOk()) return group.status();
  // All objects before the first handle, so that nothing is left behind when memory runs out.
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int rank = 0; rank < nranks; ++rank)
    communicators.push_back(std::make_unique<Communicator>(group.value(), rank, settings.value().log()));
  std::vector<tuttiComm_t*> places;
  for (int rank = 0; rank < nranks; ++rank) places.push_back(comms + rank);
  return publish(std::move(communicators), places);
}

Status checkRank(const tuttiComm_t* comm, int nranks, int rank) {
  if (comm == nullptr) return Status(Code::invalidArgument, "comm is NULL; wanted: room for a handle");
  if (nranks < 1 || nranks > kMostHostRanks)
    return Status(Code::invalidArgument,
                  fmt::format("nranks is {}; wanted: 1 to {}", nranks, kMostHostRanks));
  if (rank < 0 || rank >= nranks)
    return Status(Code::invalidArgument, fmt::format("rank is {}; wanted: 0 to {}", rank, nranks - 1));
  return Status();
}

Status noteOrJoin(NotedInit init) {
  if (Group::isOpenHere()) {
    Group::here().add(std::move(init));
    return Status();
  }
  std::vector<std::unique_ptr<Communicator>> communicators(1);  // before others know of the rank
  auto communicator = joinCommunicator(init.id, init.nranks, init.rank, init.settings);
  if (!communicator.isOk()) return communicator.status();
  communicators[0] = std::move(communicator).value();
  return publish(std::move(communicators), std::span(&init.comm, 1));
}

// `idOf` gives the id. A rank with wrong arguments or settings, too, needs one: the others are to know at once.
template <class IdOf>
Status initRank(tuttiComm_t* comm, int nranks, int rank, const tuttiConfig_t* config, const IdOf& idOf) {
  Settings settings;
  Status wrong;
  try {
    wrong = checkRank(comm, nranks, rank);
    auto read = settingsOf(config);
    if (read.isOk())
      settings = std::move(read).value();
    else if (wrong.isOk())
      wrong = read.status();
  } catch (const std::bad_alloc&) {
    wrong = Status::outOfMemory();
  }
  const auto id = idOf(settings);
  if (!id.isOk()) return wrong.isOk() ? id.status() : wrong;
  try {
    if (wrong.isOk()) return noteOrJoin({comm, id.value(), nranks, rank, settings, Process::forks()});
  } catch (const std::bad_alloc&) {
    wrong = Status::outOfMemory();
  }
  decline(id.value(), nranks, rank, wrong, settings);
  return wrong;
}

// The bytes of an id in memory of ours, for as long as they are needed.
struct IdBytes {
  std::array<char, UniqueId::kBytes> bytes{};
  ~IdBytes() { UniqueId::wipe(bytes); }
};

Result<UniqueId> parseId(const char* bytes) {
  return UniqueId::parse(std::span<const char, UniqueId::kBytes>(bytes, UniqueId::kBytes));
}

// Of a parameter, which is a copy of the caller's and leaves nothing behind.
Result<UniqueId> takeId(tuttiUniqueId& id) {
  auto parsed = parseId(id.internal);
  UniqueId::wipe(id.internal);
  return parsed;
}

// The program's own all-gather may answer anything.
Status failedGather(tuttiResult_t result) {
  switch (result) {
    case tuttiUnhandledDeviceError:
    case tuttiSystemError:
    case tuttiInternalError:
    case tuttiInvalidArgument:
    case tuttiInvalidUsage:
    case tuttiRemoteError:
    case tuttiTimeout:
    case tuttiMismatch:
    case tuttiBroken:
    case tuttiNotSupported:
      return Status(static_cast<Code>(result), fmt::format("allGather, the program's own, answered {} ({})",
                                                           result, tuttiGetErrorString(result)));
    default:
      return Status(
          Code::invalidUsage,
          fmt::format("allGather, the program's own, answered {}: wanted: tuttiSuccess (0), or one of "
                      "the errors in tutti.h",
                      result));
  }
}

// Rank 0's id, by the caller's own all-gather. A rank 0 that has none hands around zeros, which nobody takes for one.
Result<UniqueId> gatheredId(int nranks, int rank, const Settings& settings,
                            tuttiAllGatherCallback_t allGather, void* context) {
  if (nranks < 1 || nranks > kMostHostRanks)
    return Status(Code::invalidArgument, "no all-gather of so many");  // as checkRank has told better
  IdBytes own;
  std::vector<IdBytes> all(static_cast<std::size_t>(nranks));
  Result<UniqueId> made = Status::outOfMemory();
  try {
    if (rank == 0) made = makeId(settings);
  } catch (const std::bad_alloc&) {
  }
  if (made.isOk()) made.value().write(own.bytes);
  static_assert(sizeof(IdBytes) == UniqueId::kBytes);
  const tuttiResult_t result = allGather(context, own.bytes.data(), all.data(), sizeof(own));
  if (rank == 0 && !made.isOk()) return made;
  if (result != tuttiSuccess) {
    Status failure = Status::outOfMemory();
    try {
      failure = failedGather(result);
    } catch (const std::bad_alloc&) {
    }
    if (made.isOk()) decline(made.value(), nranks, rank, failure, settings);  // others may have got it
    return failure;
  }
  if (all[0].bytes == IdBytes().bytes)
    return Status(Code::remoteError, "rank 0 could not make an id: its own error says why");
  return parseId(all[0].bytes.data());
}

// For the one that comes first when two threads end a communicator at the same time.
Status endHandle(tuttiComm_t comm) {
  if (Process::get().handles().retire(comm)) return Status();
  return Status(Code::invalidArgument, "another thread has ended this communicator in the meantime");
}

template <class T>
Status checkOutput(const T* pointer, const char* name) {
  return pointer != nullptr ? Status() : Status(Code::invalidArgument, fmt::format("{} is NULL", name));
}

}  // namespace
}  // namespace tutti

using tutti::Code;
using tutti::Communicator;
using tutti::Status;

tuttiResult_t tuttiGetVersion(int* version) {
  return tutti::guarded(__func__, [version] {
    TUTTI_TRY(tutti::checkOutput(version, "version"));
    *version = TUTTI_VERSION_CODE;
    return Status();
  });
}

const char* tuttiGetErrorString(tuttiResult_t result) {
  if (result == tuttiInProgress) return "in progress";
  return tutti::nameOf(static_cast<Code>(result));
}

const char* tuttiGetLastError(tuttiComm_t comm) {
  try {
    const tutti::PinnedCommunicator communicator(comm);
    if (communicator && communicator->isBroken())
      return tutti::keepText(communicator->firstCause().message());
  } catch (...) {
    return tutti::keepText("out of memory");
  }
  return tutti::keepText(tutti::lastErrorText());
}

tuttiResult_t tuttiCommInitAll(tuttiComm_t* comms, int nranks, const int* devices) {
  return tutti::countedInGroup(
      tutti::guarded(__func__, [=] { return tutti::initAll(comms, nranks, devices, nullptr); }));
}

tuttiResult_t tuttiCommInitAllConfig(tuttiComm_t* comms, int nranks, const int* devices,
                                     const tuttiConfig_t* config) {
  return tutti::countedInGroup(
      tutti::guarded(__func__, [=] { return tutti::initAll(comms, nranks, devices, config); }));
}

tuttiResult_t tuttiGetUniqueId(tuttiUniqueId* uniqueId) {
  return tutti::countedInGroup(tutti::guarded(__func__, [uniqueId] {
    TUTTI_TRY(tutti::checkOutput(uniqueId, "uniqueId"));
    const auto settings = tutti::settingsOf(nullptr);
    if (!settings.isOk()) return settings.status();
    const auto id = tutti::makeId(settings.value());
    if (!id.isOk()) return id.status();
    id.value().write(uniqueId->internal);
    return Status();
  }));
}

tuttiResult_t tuttiCommInitRank(tuttiComm_t* comm, int nranks, tuttiUniqueId id, int rank) {
  return tutti::countedInGroup(tutti::guarded(__func__, [&] {
    return tutti::initRank(comm, nranks, rank, nullptr,
                           [&](const tutti::Settings&) { return tutti::takeId(id); });
  }));
}

tuttiResult_t tuttiCommInitRankConfig(tuttiComm_t* comm, int nranks, tuttiUniqueId id, int rank,
                                      const tuttiConfig_t* config) {
  return tutti::countedInGroup(tutti::guarded(__func__, [&] {
    return tutti::initRank(comm, nranks, rank, config,
                           [&](const tutti::Settings&) { return tutti::takeId(id); });
  }));
}

tuttiResult_t tuttiCommInitCallback(tuttiComm_t* comm, int nranks, int rank,
                                    tuttiAllGatherCallback_t allGather, void* context,
                                    const tuttiConfig_t* config) {
  return tutti::countedInGroup(tutti::guarded(__func__, [&] {
    if (allGather == nullptr) return Status(Code::invalidArgument, "allGather is NULL");
    if (tutti::Group::isOpenHere())
      return Status(
          Code::invalidUsage,
          "tuttiCommInitCallback calls the program's all-gather at once and does not stand in a group");
    return tutti::initRank(comm, nranks, rank, config, [&](const tutti::Settings& settings) {
      return tutti::gatheredId(nranks, rank, settings, allGather, context);
    });
  }));
}

tuttiResult_t tuttiCommCount(tuttiComm_t comm, int* count) {
  return tutti::onCommunicator(__func__, comm, [count](Communicator& communicator) {
    TUTTI_TRY(tutti::checkOutput(count, "count"));
    *count = communicator.nranks();
    return Status();
  });
}

tuttiResult_t tuttiCommUserRank(tuttiComm_t comm, int* rank) {
  return tutti::onCommunicator(__func__, comm, [rank](Communicator& communicator) {
    TUTTI_TRY(tutti::checkOutput(rank, "rank"));
    *rank = communicator.rank();
    return Status();
  });
}

tuttiResult_t tuttiCommDevice(tuttiComm_t comm, int* device) {
  return tutti::onCommunicator(__func__, comm, [device](Communicator&) {
    TUTTI_TRY(tutti::checkOutput(device, "device"));
    *device = TUTTI_DEVICE_HOST;
    return Status();
  });
}

tuttiResult_t tuttiCommGetAsyncError(tuttiComm_t comm, tuttiResult_t* asyncError) {
  return tutti::onCommunicator(__func__, comm, [asyncError](Communicator& communicator) {
    TUTTI_TRY(tutti::checkOutput(asyncError, "asyncError"));
    *asyncError = static_cast<tuttiResult_t>(communicator.asyncError());
    return Status();
  });
}

tuttiResult_t tuttiCommLastPlan(tuttiComm_t comm, tuttiPlan_t* plan) {
  return tutti::inCommunicator(__func__, comm, [plan](Communicator& communicator) {
    TUTTI_TRY(tutti::checkOutput(plan, "plan"));
    if (plan->magic != TUTTI_PLAN_MAGIC || plan->size < offsetof(tuttiPlan_t, collective) ||
        plan->version == 0)
      return Status(Code::invalidArgument, "plan was not set by TUTTI_PLAN_INIT");
    tuttiPlan_t known = TUTTI_PLAN_INIT;
    TUTTI_TRY(communicator.lastPlan(known));
    known.size = plan->size;
    known.version = plan->version;
    std::memcpy(plan, &known, std::min(plan->size, sizeof(known)));
    return Status();
  });
}

tuttiResult_t tuttiCommFinalize(tuttiComm_t comm) {
  return tutti::countedInGroup(tutti::inCommunicator(__func__, comm, [](Communicator& communicator) {
    if (tutti::Group::isOpenHere())
      return Status(Code::invalidUsage, "tuttiCommFinalize does not stand in a group");
    return communicator.finalize();
  }));
}

tuttiResult_t tuttiCommDestroy(tuttiComm_t comm) {
  return tutti::countedInGroup(tutti::inCommunicator(__func__, comm, [comm](Communicator& communicator) {
    if (tutti::Group::isOpenHere() && tutti::Group::here().holds(communicator))
      return Status(Code::invalidUsage,
                    "the open group of this thread has calls on the communicator; nothing was destroyed");
    const Status last = communicator.finalize();
    TUTTI_TRY(tutti::endHandle(comm));
    return last.code() == Code::mismatch ? last : Status();  // finalized or broken before: nothing to tell
  }));
}

tuttiResult_t tuttiCommAbort(tuttiComm_t comm) {
  return tutti::countedInGroup(tutti::onCommunicator(__func__, comm, [comm](Communicator& communicator) {
    communicator.abort();
    return tutti::endHandle(comm);
  }));
}
