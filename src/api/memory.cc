// Memory that peers reach directly.
#include <fmt/format.h>

#include "api/boundary.h"
#include "api/communicator.h"
#include "api/group.h"

using tutti::Code;
using tutti::Communicator;
using tutti::Status;

tuttiResult_t tuttiMemAlloc(void** pointer, size_t bytes, int device) {
  return tutti::countedInGroup(tutti::guarded(__func__, [=] {
    if (pointer == nullptr) return Status(Code::invalidArgument, "pointer is NULL");
    if (device != TUTTI_DEVICE_HOST) {
      if (device < 0)
        return Status(Code::invalidArgument,
                      fmt::format("device is {}; wanted: TUTTI_DEVICE_HOST (-1) or a CUDA ordinal", device));
      return Status(
          Code::notSupported,
          fmt::format("device memory is not built yet: device {} must be TUTTI_DEVICE_HOST", device));
    }
    const auto memory = tutti::Process::get().allocate(bytes);
    if (!memory.isOk()) return memory.status();
    *pointer = memory.value();
    return Status();
  }));
}

tuttiResult_t tuttiMemFree(void* pointer) {
  return tutti::countedInGroup(
      tutti::guarded(__func__, [pointer] { return tutti::Process::get().free(pointer); }));
}

tuttiResult_t tuttiCommRegister(tuttiComm_t comm, void* buffer, size_t bytes, void** handle) {
  return tutti::countedInGroup(tutti::inCommunicator(__func__, comm, [=](Communicator& communicator) {
    if (handle == nullptr) return Status(Code::invalidArgument, "handle is NULL");
    if (buffer == nullptr) return Status(Code::invalidArgument, "buffer is NULL");
    if (bytes == 0) return Status(Code::invalidArgument, "bytes is 0");
    if (reinterpret_cast<std::uintptr_t>(buffer) + bytes < reinterpret_cast<std::uintptr_t>(buffer))
      return Status(Code::invalidArgument,
                    fmt::format("{} bytes at {} run past the end of memory", bytes, buffer));
    if (tutti::Group::isOpenHere())
      return Status(Code::invalidUsage, "tuttiCommRegister does not stand in a group");
    return communicator.registerMemory(buffer, bytes, handle);
  }));
}

tuttiResult_t tuttiCommDeregister(tuttiComm_t comm, void* handle) {
  return tutti::countedInGroup(tutti::inCommunicator(__func__, comm, [handle](Communicator& communicator) {
    if (handle == nullptr) return Status();
    if (tutti::Group::isOpenHere() && tutti::Group::here().holds(communicator))
      return Status(Code::invalidUsage,
                    "the open group of this thread has calls on the communicator; nothing was deregistered");
    return communicator.deregisterMemory(handle);
  }));
}
