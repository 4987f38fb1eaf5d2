// See virtual_communicator.h.
#include "tests/gpu/virtual_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "collectives/flatten.h"
#include "tests/gpu/lane_image.h"

namespace tutti::cuda {
namespace {

constexpr float kPoison = -1;

float contribution(std::size_t call, int rank, std::uint64_t index) {
  return static_cast<float>((call * 7 + static_cast<unsigned>(rank) * 31 + index * 13 + 5) % 1021);
}

template <class T>
const T* copied(Arena& arena, const std::vector<T>& from) {
  const Placed<T> placed = arena.place<T>(from.size());
  std::copy(from.begin(), from.end(), placed.host);
  return placed.device;
}

}  // namespace

std::string describe(const VirtualCall& call) {
  return fmt::format("{} {} of {}", nameOf(call.algorithm), nameOf(call.collective), call.count);
}

MailboxEnd* VirtualCommunicator::endOf(int from, int to, int channel, bool sends) {
  const auto [known, isNew] = links_.try_emplace({from, to, channel});
  Link& link = known->second;
  if (isNew) {
    link.credit = arena_.place<std::uint64_t>(1);
    MailboxEnd end;
    end.nslots = nslots_;
    end.slotBytes = slotBytes_;
    end.stride = strideOf(MailboxFormat::slots, slotBytes_);
    end.headers = arena_.place<SlotHeader>(nslots_).device;
    end.slots = arena_.place<std::byte>(nslots_ * slotBytes_).device;
    end.credit = link.credit.device;
    link.sender = arena_.place<MailboxEnd>(1);
    link.receiver = arena_.place<MailboxEnd>(1);
    *link.sender.host = *link.receiver.host = end;
  }
  return sends ? link.sender.device : link.receiver.device;
}

PlacedCall VirtualCommunicator::place(const VirtualCall& call) {
  std::vector<std::unique_ptr<FlatSchedule>> flat;
  std::size_t nlanes = 1;
  for (int rank = 0; rank < nranks_; ++rank) {
    flat.push_back(flatten(buildSchedule({call.collective, call.algorithm, rank, nranks_, call.root, 1})));
    nlanes = std::max(nlanes, flat.back()->lanes.size());
  }
  std::uint64_t capacity = 0;
  for (int blocks : flat[0]->mostLinkBlocks) {
    if (blocks == 0) continue;
    const std::uint64_t fits =
        std::max<std::uint64_t>(1, slotBytes_ / (static_cast<unsigned>(blocks) * sizeof(float)));
    capacity = capacity == 0 ? fits : std::min(capacity, fits);
  }

  const auto nranks = static_cast<std::size_t>(nranks_);
  PlacedCall placed{};
  placed.call = call;
  placed.number = ncalls_++;
  const auto calls = arena_.place<CallArguments>(nranks);
  const auto lanes = arena_.place<VirtualLane>(nranks * nlanes);
  const auto outcomes = arena_.place<LaneOutcome>(nranks * nlanes);
  const auto peerInputs = arena_.place<const std::byte*>(nranks);
  const auto peerOutputs = arena_.place<std::byte*>(nranks);
  placed.calls = calls.host;
  placed.lanes = lanes.host;
  placed.outcomes = outcomes.host;
  placed.hasLane.resize(nranks * nlanes);
  placed.nsteps.resize(nranks * nlanes);
  placed.launch.type = DataType::f32;
  placed.launch.operation = Operation::sum;
  placed.launch.nranks = static_cast<unsigned>(nranks);
  placed.launch.nlanes = static_cast<unsigned>(nlanes);
  placed.launch.lanes = lanes.device;
  placed.launch.calls = calls.device;
  placed.launch.outcomes = outcomes.device;

  CallArguments arguments;
  for (std::uint32_t& bytes : arguments.formBytes) bytes = sizeof(float);
  arguments.cut = makeCut(call.count, static_cast<std::uint32_t>(flat[0]->blocksPerSegment), capacity, 4);
  arguments.reduction = {DataType::f32, Operation::sum, static_cast<std::uint32_t>(nranks)};
  arguments.tag = 0x01000193u * static_cast<std::uint32_t>(placed.number + 1);
  arguments.shape = placed.number + 1;
  arguments.peerInputs = peerInputs.device;
  arguments.peerOutputs = peerOutputs.device;
  const auto in = call.count * static_cast<unsigned>(inputSegmentsOf(call.collective, nranks_));
  const auto out = call.count * static_cast<unsigned>(outputSegmentsOf(call.collective, nranks_));
  const std::uint64_t stride = arguments.cut.roundElements * sizeof(float);
  for (std::size_t rank = 0; rank < nranks; ++rank) {
    const int own = static_cast<int>(rank);
    const auto input = arena_.place<float>(in);
    const auto output = arena_.place<float>(out);
    for (std::uint64_t i = 0; i < in; ++i) input.host[i] = contribution(placed.number, own, i);
    std::fill(output.host, output.host + out, kPoison);
    placed.outputs.push_back(output.host);
    peerInputs.host[rank] = reinterpret_cast<const std::byte*>(input.device);
    peerOutputs.host[rank] = reinterpret_cast<std::byte*>(output.device);
    calls.host[rank] = arguments;
    calls.host[rank].input = peerInputs.host[rank];
    calls.host[rank].output = peerOutputs.host[rank];
    const auto scratch = arena_.place<std::byte>(stride * static_cast<unsigned>(flat[rank]->scratchSegments));
    for (std::size_t l = 0; l < flat[rank]->lanes.size(); ++l) {
      const FlatLane& from = flat[rank]->lanes[l];
      const LaneImage image(from.program);
      VirtualLane& lane = lanes.host[rank * nlanes + l];
      lane = image.onHost();
      lane.program.steps = copied(arena_, image.steps);
      lane.program.runs = copied(arena_, image.runs);
      lane.program.operands = copied(arena_, image.operands);
      lane.program.stepEnds = copied(arena_, image.stepEnds);
      std::vector<MailboxEnd*> ends;
      for (const LinkUse& use : from.ends)
        ends.push_back(use.sends ? endOf(own, use.peer, use.channel, true)
                                 : endOf(use.peer, own, use.channel, false));
      lane.ends = copied(arena_, ends);
      lane.scratch = scratch.device;
      lane.scratchStride = stride;
      placed.hasLane[rank * nlanes + l] = lane.program.nsteps != 0;
      placed.nsteps[rank * nlanes + l] = std::uint64_t{lane.program.nsteps} * arguments.cut.rounds;
    }
  }
  return placed;
}

float VirtualCommunicator::expected(const PlacedCall& placed, int rank, std::uint64_t index) const {
  const VirtualCall& call = placed.call;
  switch (call.collective) {
    case Collective::broadcast:
      return contribution(placed.number, call.root, index);
    case Collective::allGather:
      return contribution(placed.number, static_cast<int>(index / call.count), index % call.count);
    case Collective::reduceScatter:
      index += static_cast<unsigned>(rank) * call.count;
      break;
    default:
      break;
  }
  float sum = 0;
  for (int from = 0; from < nranks_; ++from) sum += contribution(placed.number, from, index);
  return sum;
}

std::vector<std::string> VirtualCommunicator::faultsOf(const PlacedCall& placed) const {
  std::vector<std::string> faults;
  const std::string what = describe(placed.call);
  const std::size_t nlanes = placed.launch.nlanes;
  for (std::size_t i = 0; i < placed.hasLane.size(); ++i) {
    if (!placed.hasLane[i]) continue;
    const LaneOutcome& outcome = placed.outcomes[i];
    if (!outcome.done || outcome.stepsFired != placed.nsteps[i])
      faults.push_back(fmt::format("{}: rank {} lane {} waits at step {} of round {} after {} of {} steps{}",
                                   what, i / nlanes, i % nlanes, outcome.step, outcome.round,
                                   outcome.stepsFired, placed.nsteps[i],
                                   outcome.suspicious ? ", and met another call" : ""));
  }
  if (placed.call.collective == Collective::barrier) return faults;
  const auto out =
      placed.call.count * static_cast<unsigned>(outputSegmentsOf(placed.call.collective, nranks_));
  for (int rank = 0; rank < nranks_; ++rank) {
    const bool gets = placed.call.collective != Collective::reduce || rank == placed.call.root;
    const float* output = placed.outputs[static_cast<std::size_t>(rank)];
    for (std::uint64_t i = 0; i < out; ++i) {
      const float want = gets ? expected(placed, rank, i) : kPoison;
      if (output[i] == want) continue;
      faults.push_back(fmt::format("{}: rank {} element {} is {}, not {}", what, rank, i, output[i], want));
      break;
    }
  }
  return faults;
}

std::vector<std::string> VirtualCommunicator::faultsOfLinks() const {
  std::vector<std::string> faults;
  for (const auto& [key, link] : links_) {
    const MailboxEnd& sender = *link.sender.host;
    const MailboxEnd& receiver = *link.receiver.host;
    if (sender.messages != receiver.messages || sender.bytes != receiver.bytes ||
        sender.slot != receiver.slot || *link.credit.host != receiver.messages)
      faults.push_back(
          fmt::format("link {}->{} #{}: {} messages sent, {} taken, credit {}; {} bytes sent, {} taken",
                      std::get<0>(key), std::get<1>(key), std::get<2>(key), sender.messages,
                      receiver.messages, *link.credit.host, sender.bytes, receiver.bytes));
  }
  return faults;
}

}  // namespace tutti::cuda
