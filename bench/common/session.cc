// Buffers of all ranks, the timed calls of one line, and its checked call: fill, call, (flip a bit, in
// tests), compare.
#include "session.h"

#include "communicators.h"
#include "cpus.h"
#include "number.h"
#include "output.h"
#include "verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::bench {
namespace {

// The line and placement that a wrong element belongs to, for people.
std::string labelOf(const Collective& collective, const Row& row, Placement placement) {
  std::string label = fmt::format("{} {} B {}", collective.name, row.sizeBytes, row.type);
  if (hasOperation(collective.kind)) label += fmt::format(" {}", row.op);
  if (hasRoot(collective.kind)) label += fmt::format(" root {}", row.root);
  return label + (placement == Placement::outOfPlace ? " out-of-place" : " in-place");
}

}  // namespace

Session::Session(const Collective& collective, const Options& options, Launch& launch)
    : collective_(collective),
      options_(options),
      ranks_(launch, options.threads),
      buffers_(static_cast<std::size_t>(options.threads)) {}

Outcome Session::join() {
  if (Outcome failed = makeCommunicators(ranks_, options_)) return failed;
  return options_.pin ? bindThreads(ranks_) : std::nullopt;
}

TimingMethod Session::method() const {
  return hasRoot(collective_.kind) && !options_.rotateRoots ? TimingMethod::barrierAndMaximum
                                                            : TimingMethod::backToBack;
}

Outcome Session::makeBuffers(std::size_t sendBytes, std::size_t recvBytes, std::size_t offset) {
  return ranks_.run([&](int rank) -> Outcome {
    RankBuffers& mine = buffers_[ranks_.at(rank)];
    const tuttiComm_t comm = ranks_.comm(rank);
    std::string error;
    mine.send = Buffer::make(sendBytes, offset, options_.registerBuffers, &error);
    if (!mine.send.isEmpty()) mine.recv = Buffer::make(recvBytes, offset, options_.registerBuffers, &error);
    if (mine.recv.isEmpty()) return Failure{rank, tuttiSystemError, error};
    if (!options_.registerBuffers) return std::nullopt;
    const auto enlist = [&](const Buffer& buffer, void** handle) {
      return outcomeOf(tuttiCommRegister(comm, buffer.memory(), buffer.memoryBytes(), handle), rank,
                       "tuttiCommRegister", comm);
    };
    if (Outcome failed = enlist(mine.send, &mine.sendHandle)) return failed;
    return enlist(mine.recv, &mine.recvHandle);
  });
}

void Session::releaseBuffers() {
  for (int rank = ranks_.first(); rank < ranks_.first() + ranks_.here(); rank++) {
    RankBuffers& mine = buffers_[ranks_.at(rank)];
    if (mine.sendHandle != nullptr) tuttiCommDeregister(ranks_.comm(rank), mine.sendHandle);
    if (mine.recvHandle != nullptr) tuttiCommDeregister(ranks_.comm(rank), mine.recvHandle);
    mine = RankBuffers{};
  }
}

Call Session::callOf(const Case& one, int rank) {
  RankBuffers& mine = buffers_[ranks_.at(rank)];
  const std::size_t bytes = bytesOf(one.type);
  Call call{mine.send.data(), mine.recv.data(), one.layout.count, one.type,
            one.op,           one.layout.root,  ranks_.comm(rank)};
  if (one.layout.placement == Placement::inPlace) {
    call.send = mine.recv.data() + inPlaceSendAt(one.layout, rank) * bytes;
    call.recv = mine.recv.data() + inPlaceRecvAt(one.layout, rank) * bytes;
  }
  return call;
}

Outcome Session::measureCase(const Case& one, std::size_t sizeBytes, RowResult* result) {
  std::vector<Call> calls;
  for (int i = 0; i < ranks_.here(); i++) calls.push_back(callOf(one, ranks_.first() + i));
  const TimedCall timed = [&](int rank, long iteration) {
    Call call = calls[ranks_.at(rank)];
    if (options_.rotateRoots) call.root = static_cast<int>(iteration % ranks_.count());
    return collective_.call(call);
  };
  const TimingOptions how{method(), options_.iterations, options_.warmups};
  if (Outcome failure = measure(ranks_, collective_.name, timed, how, &result->timing)) return failure;
  const double us = result->timing.medianUs;
  result->algbwGBps = us > 0 ? static_cast<double>(sizeBytes) / us / 1e3 : 0;
  result->busbwGBps = result->algbwGBps * collective_.busFactor(ranks_.count());
  if (tuttiCommLastPlan(ranks_.comm(ranks_.first()), &result->plan) != tuttiSuccess)
    result->plan = TUTTI_PLAN_INIT;
  return std::nullopt;
}

Outcome Session::checkCase(const Case& one, const std::string& label, RowResult* result) {
  const int nranks = ranks_.count();
  const Layout& layout = one.layout;
  const Pattern pattern = hasOperation(collective_.kind) ? reducedPattern(nranks, one.type, one.op, seed_)
                                                         : copiedPattern(nranks, one.type, seed_);
  seed_++;
  std::vector<WrongElements> wrong(buffers_.size());
  const Outcome failure = ranks_.run([&](int rank) -> Outcome {
    RankBuffers& mine = buffers_[ranks_.at(rank)];
    const Content before = contentBefore(layout, pattern, rank);
    fill(mine.send, one.type, before.send);
    fill(mine.recv, one.type, before.recv);
    const Call call = callOf(one, rank);
    if (Outcome failed = outcomeOf(collective_.call(call), rank, collective_.name, call.comm)) return failed;
    if (options_.flip && options_.flip->rank == rank &&
        options_.flip->index < recvElements(layout.kind, layout.count, nranks)) {
      unsigned char* element =
          static_cast<unsigned char*>(call.recv) + options_.flip->index * bytesOf(one.type);
      element[options_.flip->bit / 8] ^= static_cast<unsigned char>(1u << options_.flip->bit % 8);
    }
    const Content after = contentAfter(layout, pattern, rank);
    check(mine.recv, one.type, after.recv, recvBufferElements(layout), &wrong[ranks_.at(rank)]);
    check(mine.send, one.type, after.send, sendBufferElements(layout), &wrong[ranks_.at(rank)]);
    return std::nullopt;
  });
  if (failure) return failure;
  long wrongHere = 0;
  for (std::size_t i = 0; i < wrong.size(); i++) {
    wrongHere += static_cast<long>(wrong[i].total());
    if (wrong[i].total() > 0) complain(describe(wrong[i], ranks_.first() + static_cast<int>(i), label));
  }
  result->wrong = std::max(result->wrong, 0L) + agreeOnSum(ranks_.launch(), wrongHere);
  return std::nullopt;
}

Outcome Session::measureRow(tuttiDataType_t type, tuttiRedOp_t op, int root, std::size_t count, Row* row) {
  const int nranks = ranks_.count();
  row->sizeBytes = totalElements(collective_.kind, count, nranks) * bytesOf(type);
  row->count = count;
  row->type = typeName(type);
  row->op = hasOperation(collective_.kind) ? operationName(op) : "none";
  row->root = !hasRoot(collective_.kind) ? "-1" : options_.rotateRoots ? "rotate" : std::to_string(root);
  for (Placement placement : {Placement::outOfPlace, Placement::inPlace}) {
    RowResult* result = placement == Placement::outOfPlace ? &row->outOfPlace : &row->inPlace;
    Case one{{collective_.kind, placement, count, nranks, root}, type, op};
    if (Outcome failure = measureCase(one, row->sizeBytes, result)) return failure;
    if (!options_.check) continue;
    for (int i = 0; i < (options_.rotateRoots ? nranks : 1); i++) {
      if (options_.rotateRoots) one.layout.root = i;
      if (Outcome failure = checkCase(one, labelOf(collective_, *row, placement), result)) return failure;
    }
  }
  return std::nullopt;
}

}  // namespace tutti::bench
