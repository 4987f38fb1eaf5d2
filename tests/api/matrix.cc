// See matrix.h. Buffers end at a page that nobody may touch, or `slack` bytes before it.
#include "tests/api/matrix.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "tests/support/numbers.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

constexpr int kMostRanks = 8;
constexpr std::size_t kArenaBytes = 8 << 20;
constexpr unsigned char kBefore = 0x5a;  // what receive buffers hold before the call

struct Extent {
  std::size_t send;  // elements
  std::size_t recv;
};

Extent extentOf(const Cell& cell) {
  const auto n = static_cast<std::size_t>(cell.nranks);
  if (cell.kind == Kind::barrier) return {0, 0};
  return {cell.count * (cell.kind == Kind::reduceScatter ? n : 1),
          cell.count * (cell.kind == Kind::allGather ? n : 1)};
}

bool sends(const Cell& cell, int rank) {
  return cell.kind != Kind::broadcast || rank == cell.root;
}
bool receives(const Cell& cell, int rank) {
  return cell.kind != Kind::reduce || rank == cell.root;
}

tuttiResult_t call(const Cell& cell, void* send, void* recv, tuttiComm_t comm) {
  switch (cell.kind) {
    case Kind::allReduce:
      return tuttiAllReduce(send, recv, cell.count, cell.type, cell.operation, comm, nullptr);
    case Kind::broadcast:
      if (send == recv) return tuttiBcast(recv, cell.count, cell.type, cell.root, comm, nullptr);
      return tuttiBroadcast(send, recv, cell.count, cell.type, cell.root, comm, nullptr);
    case Kind::reduce:
      return tuttiReduce(send, recv, cell.count, cell.type, cell.operation, cell.root, comm, nullptr);
    case Kind::reduceScatter:
      return tuttiReduceScatter(send, recv, cell.count, cell.type, cell.operation, comm, nullptr);
    case Kind::allGather:
      return tuttiAllGather(send, recv, cell.count, cell.type, comm, nullptr);
    case Kind::barrier:
      return tuttiBarrier(comm, nullptr);
  }
  return tuttiInternalError;
}

}  // namespace

const char* nameOf(Kind kind) {
  constexpr const char* names[] = {"allreduce",     "broadcast", "reduce",
                                   "reducescatter", "allgather", "barrier"};
  return names[static_cast<int>(kind)];
}
bool reduces(Kind kind) {
  return kind == Kind::allReduce || kind == Kind::reduce || kind == Kind::reduceScatter;
}
bool isRooted(Kind kind) {
  return kind == Kind::broadcast || kind == Kind::reduce;
}

const std::vector<std::string>& algorithmNames() {
  static const std::vector<std::string> names = {"ring",          "oneshot",           "twoshot",
                                                 "twoshotwindow", "binomial",          "chain",
                                                 "doubletree",    "recursivedoubling", "halvingdoubling"};
  return names;
}

bool serves(const std::string& algorithm, Kind kind) {
  using enum Kind;
  static const std::map<std::string, std::vector<Kind>> table = {
      {"ring", {allReduce, reduceScatter, allGather}},
      {"oneshot", {allReduce, broadcast, reduce, reduceScatter, allGather, barrier}},
      {"twoshot", {allReduce}},
      {"twoshotwindow", {allReduce, broadcast, reduce, reduceScatter, allGather}},
      {"binomial", {allReduce, broadcast, reduce}},
      {"chain", {broadcast, reduce}},
      {"doubletree", {allReduce, broadcast, reduce}},
      {"recursivedoubling", {allReduce, allGather, barrier}},
      {"halvingdoubling", {allReduce, reduceScatter, allGather}},
  };
  const std::vector<Kind>& kinds = table.at(algorithm);
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::string Cell::text() const {
  constexpr const char* operations[] = {"sum", "prod", "max", "min", "avg"};
  constexpr const char* placings[] = {"out of place", "in place", "mixed"};
  constexpr const char* memories[] = {"", ", registered", ", some registered"};
  std::ostringstream text;
  text << nameOf(kind) << " by " << (algorithm.empty() ? "choice" : algorithm) << ", " << nranks << " ranks, "
       << count << " " << reference::nameOf(type);
  if (reduces(kind)) text << " " << operations[operation];
  if (isRooted(kind)) text << ", root " << root;
  text << ", " << placings[static_cast<int>(placing)] << ", "
       << (driver == Driver::group ? "group" : "threads") << memories[static_cast<int>(registered)]
       << ", slack " << slack << ", seed " << seed;
  return text.str();
}

Matrix::Matrix() {
  for (int rank = 0; rank < kMostRanks; ++rank) arenas_.push_back(std::make_unique<Arena>(kArenaBytes));
}

Matrix::~Matrix() = default;

Matrix::Member& Matrix::memberFor(const Cell& cell) {
  const std::string key = cell.algorithm + (cell.registered == Registered::none  ? "/none"
                                            : cell.registered == Registered::all ? "/all"
                                                                                 : "/some");
  auto found = members_.find({cell.nranks, key});
  if (found == members_.end())
    found = members_.emplace(std::pair(cell.nranks, key), Member{Communicators(cell.nranks, cell.algorithm)})
                .first;
  Member& member = found->second;
  if (cell.registered == Registered::none || member.isRegistered) return member;
  member.isRegistered = true;
  // Everybody calls it equally often; a rank that registers the wrong memory has none that counts.
  for (int rank = 0; rank < cell.nranks; ++rank) {
    Arena& arena = *arenas_[static_cast<std::size_t>(rank)];
    const bool wrong = cell.registered == Registered::some && rank == cell.nranks - 1;
    for (GuardedBuffer* buffer : {&arena.send, &arena.recv}) {
      void* handle = nullptr;
      tuttiCommRegister(member.comms[rank], buffer->placeAtBegin(0, 0), wrong ? 1 : kArenaBytes, &handle);
    }
  }
  return member;
}

Matrix::Buffers Matrix::place(const Cell& cell, int rank) {
  Arena& arena = *arenas_[static_cast<std::size_t>(rank)];
  const std::size_t size = reference::sizeOf(cell.type);
  const Extent extent = extentOf(cell);
  const std::size_t mine = static_cast<std::size_t>(rank) * cell.count * size;
  Buffers buffers;
  buffers.inPlace = cell.placing == Placing::inPlace || (cell.placing == Placing::mixed && rank % 2 == 0);
  if (isRooted(cell.kind) && rank != cell.root) buffers.inPlace = false;
  unsigned char* send = arena.send.placeAtEnd(extent.send * size, cell.slack);
  unsigned char* recv = arena.recv.placeAtEnd(extent.recv * size, cell.slack);
  if (buffers.inPlace && cell.kind == Kind::allGather) {
    send = recv + mine;
    std::memset(recv, kBefore, extent.recv * size);
  } else if (buffers.inPlace) {
    recv = send + (cell.kind == Kind::reduceScatter ? mine : 0);
  } else {
    std::memset(recv, kBefore, extent.recv * size);
  }
  buffers.send = send;
  buffers.recv = recv;
  if (cell.kind == Kind::barrier) buffers.send = buffers.recv = nullptr;
  // Half of the ranks pass NULL for a buffer that they do not use, the others something to leave alone.
  if (!sends(cell, rank) && rank % 2 == 0) buffers.send = nullptr;
  if (!receives(cell, rank) && rank % 2 == 0) buffers.recv = nullptr;
  if (cell.kind != Kind::barrier && sends(cell, rank))
    patternFor(cell).fill(rank, buffers.send, 0, extent.send);
  return buffers;
}

const reference::Pattern& Matrix::patternFor(const Cell& cell) {
  auto& pattern = patterns_[{cell.type, cell.operation, cell.nranks, static_cast<int>(cell.seed)}];
  if (pattern == nullptr)
    pattern = std::make_unique<reference::Pattern>(cell.type, cell.operation, cell.nranks, cell.seed);
  return *pattern;
}

std::string Matrix::check(const Cell& cell, int rank, const Buffers& buffers,
                          const reference::Pattern& pattern) const {
  const Arena& arena = *arenas_[static_cast<std::size_t>(rank)];
  const std::string who = "rank " + std::to_string(rank) + ": ";
  if (!arena.send.isSurroundingUntouched() || !arena.recv.isSurroundingUntouched())
    return who + "bytes beside a buffer were written";
  if (cell.kind == Kind::barrier || cell.count == 0) return "";
  const std::size_t size = reference::sizeOf(cell.type);
  const std::size_t count = cell.count;
  const Extent extent = extentOf(cell);
  const std::size_t mine = static_cast<std::size_t>(rank) * count;
  const auto at = [size](const void* base, std::size_t element) {
    return static_cast<const unsigned char*>(base) + element * size;
  };

  if (receives(cell, rank)) {
    std::size_t wrong = count;
    if (cell.kind == Kind::broadcast) {
      wrong = pattern.differsFromData(cell.root, buffers.recv, 0, count);
    } else if (cell.kind == Kind::allGather) {
      for (int peer = 0; peer < cell.nranks && wrong == count; ++peer) {
        const std::size_t first = static_cast<std::size_t>(peer) * count;
        const std::size_t at0 = pattern.differsFromData(peer, at(buffers.recv, first), 0, count);
        if (at0 != count) return who + "wrong element " + std::to_string(first + at0);
      }
    } else {
      wrong = pattern.differsFromReduced(buffers.recv, cell.kind == Kind::reduceScatter ? mine : 0, count);
    }
    if (wrong != count) return who + "wrong element " + std::to_string(wrong);
  } else if (buffers.recv != nullptr) {
    for (std::size_t i = 0; i < extent.recv * size; ++i) {
      if (static_cast<const unsigned char*>(buffers.recv)[i] != kBefore)
        return who + "the receive buffer of a rank that receives nothing was written";
    }
  }

  if (buffers.send == nullptr) return "";
  if (!buffers.inPlace) {
    if (sends(cell, rank) && pattern.differsFromData(rank, buffers.send, 0, extent.send) != extent.send)
      return who + "the send buffer was written";
  } else if (cell.kind == Kind::reduceScatter) {
    for (int peer = 0; peer < cell.nranks; ++peer) {
      const std::size_t first = static_cast<std::size_t>(peer) * count;
      if (peer != rank && pattern.differsFromData(rank, at(buffers.send, first), first, count) != count)
        return who + "a block of the send buffer beside the own one was written";
    }
  }
  return "";
}

std::string Matrix::checkPlan(const Cell& cell, tuttiComm_t comm) const {
  const tuttiPlan_t plan = lastPlanOf(comm);
  if (plan.collective != std::string(nameOf(cell.kind)))
    return std::string("the plan is one of ") + plan.collective;
  if (plan.reason[0] == '\0') return "the plan has no reason";
  const std::string algorithm = plan.algorithm;
  const std::string protocol = plan.protocol;
  if (cell.nranks == 1) return algorithm == "none" ? "" : "one rank has a plan by " + algorithm;
  if (!cell.algorithm.empty()) {
    if (algorithm != cell.algorithm) return "the plan is by " + algorithm;
    if ((algorithm == "twoshotwindow") != (protocol == "window")) return "the protocol is " + protocol;
    return "";
  }
  if (cell.registered == Registered::all && cell.count * reference::sizeOf(cell.type) > 1024 &&
      cell.kind != Kind::barrier)
    return protocol == "window" ? "" : "registered memory goes by " + protocol;
  if (protocol == "window") return "the protocol is window, but not all memory is registered";
  return "";
}

std::string Matrix::run(const Cell& cell) {
  Member& member = memberFor(cell);
  if (member.comms.size() != cell.nranks)
    return std::string("no communicator: ") + tuttiGetLastError(nullptr);
  std::vector<Buffers> buffers;
  for (int rank = 0; rank < cell.nranks; ++rank) buffers.push_back(place(cell, rank));

  if (cell.driver == Driver::group) {
    tuttiGroupStart();
    for (int rank = 0; rank < cell.nranks; ++rank) {
      const Buffers& mine = buffers[static_cast<std::size_t>(rank)];
      call(cell, mine.send, mine.recv, member.comms[rank]);
    }
    if (tuttiGroupEnd() != tuttiSuccess) return tuttiGetLastError(nullptr);
  } else {
    const auto errors = onRanks(cell.nranks, [&](int rank) -> std::string {
      const Buffers& mine = buffers[static_cast<std::size_t>(rank)];
      if (call(cell, mine.send, mine.recv, member.comms[rank]) == tuttiSuccess) return "";
      return tuttiGetLastError(nullptr);
    });
    for (const std::string& error : errors) {
      if (!error.empty()) return error;
    }
  }
  for (int rank = 0; rank < cell.nranks; ++rank) {
    std::string wrong = check(cell, rank, buffers[static_cast<std::size_t>(rank)], patternFor(cell));
    if (wrong.empty()) wrong = checkPlan(cell, member.comms[rank]);
    if (!wrong.empty()) return wrong;
  }
  return "";
}

std::string Matrix::runRank(const Cell& cell, int rank, tuttiComm_t comm) {
  if (cell.registered != Registered::none && registered_ != comm) {
    void* memory[2] = {};
    for (void*& buffer : memory) {
      void* handle = nullptr;
      if (tuttiMemAlloc(&buffer, kArenaBytes, TUTTI_DEVICE_HOST) != tuttiSuccess ||
          tuttiCommRegister(comm, buffer, kArenaBytes, &handle) != tuttiSuccess)
        return tuttiGetLastError(nullptr);
    }
    arenas_[static_cast<std::size_t>(rank)] = std::make_unique<Arena>(memory[0], memory[1], kArenaBytes);
    registered_ = comm;
  }
  const Buffers buffers = place(cell, rank);
  if (call(cell, buffers.send, buffers.recv, comm) != tuttiSuccess) return tuttiGetLastError(nullptr);
  const std::string wrong = check(cell, rank, buffers, patternFor(cell));
  return wrong.empty() ? checkPlan(cell, comm) : wrong;
}

}  // namespace tutti
