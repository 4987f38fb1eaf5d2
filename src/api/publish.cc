// See publish.h.
#include "api/publish.h"

#include <new>

#include "api/process.h"

namespace tutti {
namespace {

using Communicators = std::vector<std::unique_ptr<Communicator>>;

Status giveHandles(Communicators& communicators, std::vector<tuttiComm_t>& made) {
  made.reserve(communicators.size());
  for (auto& communicator : communicators) {
    tellOfCommunicator(*communicator);
    const auto handle = Process::get().handles().add(std::move(communicator));
    if (!handle.isOk()) return handle.status();
    made.push_back(handle.value());
  }
  return Status();
}

}  // namespace

void giveUp(const Communicators& communicators, const Status& why) noexcept {
  for (const auto& communicator : communicators) {
    if (communicator != nullptr) communicator->giveUp(why);
  }
}

Status publish(Communicators communicators, std::span<tuttiComm_t* const> places) {
  std::vector<tuttiComm_t> made;
  Status failure;
  try {
    failure = giveHandles(communicators, made);
  } catch (const std::bad_alloc&) {
    failure = Status::outOfMemory();
  }
  if (failure.isOk()) {
    for (std::size_t i = 0; i < made.size(); ++i) *places[i] = made[i];
    return failure;
  }
  HandleTable& table = Process::get().handles();
  for (const tuttiComm_t handle : made) {
    table.acquire(handle)->giveUp(failure);
    table.retire(handle);
    table.release(handle);
  }
  giveUp(communicators, failure);
  return failure;
}

}  // namespace tutti
