// The collectives of tutti.h: checks of the arguments, then Communicator::run, or a note in the thread's
// group.
#include <fmt/format.h>

#include "api/boundary.h"
#include "api/communicator.h"
#include "api/group.h"

namespace tutti {
namespace {

struct UserCall {
  Collective collective;
  const void* send;
  void* recv;
  std::size_t count;
  tuttiDataType_t type;
  tuttiRedOp_t operation;
  int root;
  tuttiStream_t stream;
};

Status invalid(std::string text) {
  return Status(Code::invalidArgument, std::move(text));
}

Status checkValues(const UserCall& call, int nranks) {
  if (call.stream != nullptr)
    return Status(Code::notSupported,
                  "streams are not built yet: stream must be NULL on a host communicator");
  if (call.type < 0 || call.type >= kDataTypes)
    return invalid(fmt::format("type {} is none of tuttiInt8 (0) to tuttiFloat8e5m2 (11)", call.type));
  if (reduces(call.collective)) {
    if (call.operation >= tuttiBitAnd && call.operation <= tuttiBitXor)
      return isFloat(static_cast<DataType>(call.type))
                 ? invalid(fmt::format("bitwise operations work on integers, not on {}",
                                       nameOf(static_cast<DataType>(call.type))))
                 : Status(Code::notSupported, "tuttiBitAnd, tuttiBitOr and tuttiBitXor are not built yet");
    if (call.operation < 0 || call.operation >= kOperations)
      return invalid(
          fmt::format("op {} is none of tuttiSum (0) to tuttiAvg (4), and no operation was made on this "
                      "communicator",
                      call.operation));
  }
  if (isRooted(call.collective) && (call.root < 0 || call.root >= nranks))
    return invalid(fmt::format("root {} is no rank: ranks are 0 to {}", call.root, nranks - 1));
  return Status();
}

Status checkBuffers(const UserCall& call, int rank, int nranks) {
  if (call.count == 0 || call.collective == Collective::barrier) return Status();
  const std::uint64_t size = bytesOf(static_cast<DataType>(call.type));
  const auto n = static_cast<std::uint64_t>(nranks);
  std::uint64_t all = 0;  // of all segments; half of what fits, so that sums of addresses do not wrap
  if (__builtin_mul_overflow(call.count, size * n, &all) || all >> 62 != 0)
    return invalid(fmt::format("count {} of {} bytes each is more than memory can hold", call.count, size));

  const bool sends = call.collective != Collective::broadcast || rank == call.root;
  const bool receives = call.collective != Collective::reduce || rank == call.root;
  if (sends && call.send == nullptr)
    return invalid(fmt::format("send buffer is NULL but count is {}", call.count));
  if (receives && call.recv == nullptr)
    return invalid(fmt::format("recv buffer is NULL but count is {}", call.count));
  if (!sends || !receives) return Status();

  const std::uint64_t block = call.count * size;
  const std::uint64_t sendBytes =
      block * static_cast<std::uint64_t>(inputSegmentsOf(call.collective, nranks));
  const std::uint64_t recvBytes =
      block * static_cast<std::uint64_t>(outputSegmentsOf(call.collective, nranks));
  const auto send = reinterpret_cast<std::uintptr_t>(call.send);
  const auto recv = reinterpret_cast<std::uintptr_t>(call.recv);
  if (send + sendBytes <= recv || recv + recvBytes <= send) return Status();
  const std::uint64_t mine = block * static_cast<std::uint64_t>(rank);
  const bool inPlace = call.collective == Collective::reduceScatter ? recv == send + mine
                       : call.collective == Collective::allGather   ? send == recv + mine
                                                                    : send == recv;
  if (inPlace) return Status();
  const char* form = call.collective == Collective::reduceScatter ? "recv == send + rank * recvcount elements"
                     : call.collective == Collective::allGather   ? "send == recv + rank * sendcount elements"
                                                                  : "send == recv";
  return invalid(
      fmt::format("send ({} bytes at {}) and recv ({} bytes at {}) overlap, but not as the in-place form {}",
                  sendBytes, call.send, recvBytes, static_cast<const void*>(call.recv), form));
}

// Enough, and true of nearly every call; the checks with texts decide about the others.
template <Collective kind>
[[gnu::always_inline]] inline bool isPlainlyRight(const UserCall& call, int rank, int nranks) {
  constexpr std::uint64_t kPlainCount = std::uint64_t{1} << 32;
  if (call.stream != nullptr || static_cast<unsigned>(call.type) >= unsigned{kDataTypes} ||
      (reduces(kind) && static_cast<unsigned>(call.operation) >= unsigned{kOperations}) ||
      (isRooted(kind) && static_cast<unsigned>(call.root) >= static_cast<unsigned>(nranks)))
    return false;
  if (kind == Collective::barrier) return true;
  const bool sends = kind != Collective::broadcast || rank == call.root;
  const bool receives = kind != Collective::reduce || rank == call.root;
  if (call.count >= kPlainCount || (sends && call.send == nullptr) || (receives && call.recv == nullptr))
    return false;
  if (!sends || !receives) return true;
  const std::uint64_t block = call.count * bytesOf(static_cast<DataType>(call.type));
  const auto send = reinterpret_cast<std::uintptr_t>(call.send);
  const auto recv = reinterpret_cast<std::uintptr_t>(call.recv);
  const auto segments = [block](int n) { return block * static_cast<std::uint64_t>(n); };
  return send + segments(inputSegmentsOf(kind, nranks)) <= recv ||
         recv + segments(outputSegmentsOf(kind, nranks)) <= send ||
         (send == recv && kind != Collective::reduceScatter && kind != Collective::allGather);
}

[[gnu::cold, gnu::noinline]] Status check(const UserCall& call, int rank, int nranks) {
  TUTTI_TRY(checkValues(call, nranks));
  return checkBuffers(call, rank, nranks);
}

// Of a call that was found right.
CallRequest requestOf(const UserCall& call) {
  return {call.collective,
          call.send,
          call.recv,
          call.count,
          static_cast<DataType>(call.type),
          reduces(call.collective) ? static_cast<Operation>(call.operation) : Operation::sum,
          isRooted(call.collective) ? call.root : 0};
}

template <Collective kind>
[[gnu::always_inline]] inline Status runNow(const UserCall& call, Communicator& communicator) {
  if (!isPlainlyRight<kind>(call, communicator.rank(), communicator.nranks())) [[unlikely]]
    TUTTI_TRY(check(call, communicator.rank(), communicator.nranks()));
  return communicator.run({kind, call.send, call.recv, call.count, static_cast<DataType>(call.type),
                           reduces(kind) ? static_cast<Operation>(call.operation) : Operation::sum,
                           isRooted(kind) ? call.root : 0});
}

// On success the group has the communicator.
Status note(const UserCall& call, PinnedCommunicator& communicator) {
  TUTTI_TRY(check(call, communicator->rank(), communicator->nranks()));
  const CallRequest request = requestOf(call);
  TUTTI_TRY(communicator->admits(request));
  Group::here().add(std::move(communicator), request);
  return Status();
}

[[gnu::noinline]] tuttiResult_t addToGroup(const char* function, const UserCall& call, tuttiComm_t comm) {
  return countedInGroup(caught(function, [&] {
    PinnedCommunicator communicator(comm);
    if (!communicator) return fail(function, Code::invalidArgument, communicator.refusal());
    const Communicator& named = *communicator;
    return answer(function, named, note(call, communicator));
  }));
}

// Inlined into each function below.
template <Collective kind>
[[gnu::always_inline]] inline tuttiResult_t collective(const char* function, const UserCall& call,
                                                       tuttiComm_t comm) {
  if (Group::isOpenHere()) [[unlikely]]
    return addToGroup(function, call, comm);
  return inCommunicator(
      function, comm, [&call](Communicator & communicator) __attribute__((always_inline)) {
        return runNow<kind>(call, communicator);
      });
}

}  // namespace
}  // namespace tutti

using tutti::Collective;

tuttiResult_t tuttiAllReduce(const void* send, void* recv, size_t count, tuttiDataType_t type,
                             tuttiRedOp_t op, tuttiComm_t comm, tuttiStream_t stream) {
  return tutti::collective<Collective::allReduce>(
      __func__, {Collective::allReduce, send, recv, count, type, op, 0, stream}, comm);
}

tuttiResult_t tuttiBroadcast(const void* send, void* recv, size_t count, tuttiDataType_t type, int root,
                             tuttiComm_t comm, tuttiStream_t stream) {
  return tutti::collective<Collective::broadcast>(
      __func__, {Collective::broadcast, send, recv, count, type, tuttiSum, root, stream}, comm);
}

tuttiResult_t tuttiBcast(void* buffer, size_t count, tuttiDataType_t type, int root, tuttiComm_t comm,
                         tuttiStream_t stream) {
  return tutti::collective<Collective::broadcast>(
      __func__, {Collective::broadcast, buffer, buffer, count, type, tuttiSum, root, stream}, comm);
}

tuttiResult_t tuttiReduce(const void* send, void* recv, size_t count, tuttiDataType_t type, tuttiRedOp_t op,
                          int root, tuttiComm_t comm, tuttiStream_t stream) {
  return tutti::collective<Collective::reduce>(
      __func__, {Collective::reduce, send, recv, count, type, op, root, stream}, comm);
}

tuttiResult_t tuttiReduceScatter(const void* send, void* recv, size_t recvcount, tuttiDataType_t type,
                                 tuttiRedOp_t op, tuttiComm_t comm, tuttiStream_t stream) {
  return tutti::collective<Collective::reduceScatter>(
      __func__, {Collective::reduceScatter, send, recv, recvcount, type, op, 0, stream}, comm);
}

tuttiResult_t tuttiAllGather(const void* send, void* recv, size_t sendcount, tuttiDataType_t type,
                             tuttiComm_t comm, tuttiStream_t stream) {
  return tutti::collective<Collective::allGather>(
      __func__, {Collective::allGather, send, recv, sendcount, type, tuttiSum, 0, stream}, comm);
}

tuttiResult_t tuttiBarrier(tuttiComm_t comm, tuttiStream_t stream) {
  return tutti::collective<Collective::barrier>(
      __func__, {Collective::barrier, nullptr, nullptr, 0, tuttiInt8, tuttiSum, 0, stream}, comm);
}

tuttiResult_t tuttiGroupStart(void) {
  return tutti::guarded(__func__, [] { return tutti::Group::open(); });
}

tuttiResult_t tuttiGroupEnd(void) {
  return tutti::caught(__func__, [function = __func__] { return tutti::Group::close(function); });
}
