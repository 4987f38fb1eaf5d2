// See publish.h.
#include "api/publish.h"

#include "api/process.h"

namespace tutti {
namespace {

// Takes back the handles of those that were not all made.
struct Handles {
  std::vector<tuttiComm_t> made;
  ~Handles() {
    HandleTable& table = Process::get().handles();
    for (const tuttiComm_t handle : made) {
      table.acquire(handle);
      table.retire(handle);
      table.release(handle);
    }
  }
};

}  // namespace

Status publish(std::vector<std::unique_ptr<Communicator>> communicators,
               std::span<tuttiComm_t* const> places) {
  Handles handles;
  handles.made.reserve(communicators.size());
  for (auto& communicator : communicators) {
    tellOfCommunicator(communicator->group(), communicator->rank());
    const auto handle = Process::get().handles().add(std::move(communicator));
    if (!handle.isOk()) return handle.status();
    handles.made.push_back(handle.value());
  }
  for (std::size_t i = 0; i < handles.made.size(); ++i) *places[i] = handles.made[i];
  handles.made.clear();
  return Status();
}

}  // namespace tutti
