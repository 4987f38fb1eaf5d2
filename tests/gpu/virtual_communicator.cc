// See virtual_communicator.h.
#include "tests/gpu/virtual_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tests/gpu/difference.h"
#include "tests/gpu/lane_image.h"

namespace tutti::cuda {
namespace {

constexpr std::byte kPoison{0xbb};

std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 27) * 0x94d049bb133111eb;
  return word ^ word >> 31;
}

float exactContribution(std::size_t call, int rank, std::uint64_t index) {
  return static_cast<float>((call * 7 + static_cast<unsigned>(rank) * 31 + index * 13 + 5) % 1021);
}

// Random bytes. Floats are of moderate size, because the bits of a computed NaN are anybody's.
void fillInput(const PlacedCall& placed, int rank, std::byte* data, std::uint64_t elements) {
  if (placed.call.exact) {
    for (std::uint64_t i = 0; i < elements; ++i) {
      const float value = exactContribution(placed.number, rank, i);
      std::memcpy(data + i * sizeof(value), &value, sizeof(value));
    }
    return;
  }
  const std::size_t size = bytesOf(placed.call.type);
  const std::size_t bytes = elements * size;
  const std::uint64_t seed = mixed(placed.number * 64 + static_cast<unsigned>(rank) + 1);
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t word = mixed(seed + i);
    std::memcpy(data + i, &word, std::min(sizeof(word), bytes - i));
  }
  for (std::size_t i = size - 1; i < bytes; i += size)
    data[i] = (data[i] & std::byte{0x87}) | std::byte{0x38};
}

template <class T>
const T* copied(Arena& arena, const std::vector<T>& from) {
  const Placed<T> placed = arena.place<T>(from.size());
  std::copy(from.begin(), from.end(), placed.host);
  return placed.device;
}

std::uint64_t roundedUp(std::uint64_t bytes) {
  return (bytes + 15) / 16 * 16;
}

// Of a full round, in any form.
std::uint64_t largestMessage(const FlatSchedule& flat, const CallArguments& arguments) {
  std::uint64_t largest = 0;
  for (std::size_t form = 0; form < flat.mostLinkBlocks.size(); ++form)
    largest = std::max(largest, static_cast<std::uint64_t>(flat.mostLinkBlocks[form]) *
                                    roundOf(arguments.cut, 0).blockSize * arguments.formBytes[form]);
  return largest;
}

const char* nameOf(MailboxFormat format) {
  return format == MailboxFormat::words ? " as words" : format == MailboxFormat::lines ? " as lines" : "";
}

}  // namespace

std::string describe(const VirtualCall& call) {
  return fmt::format("{} {} {} {} of {}, root {}, {} channels{}{}, input off by {}, output by {}",
                     nameOf(call.algorithm), nameOf(call.collective), nameOf(call.type),
                     nameOf(call.operation), call.count, call.root, call.channels, nameOf(call.format),
                     call.inPlace ? ", in place" : "", call.inputSkew, call.outputSkew);
}

VirtualCommunicator::Flats VirtualCommunicator::flattenAll(const VirtualCall& call) const {
  Flats flat;
  for (int rank = 0; rank < nranks_; ++rank)
    flat.push_back(
        flatten(buildSchedule({call.collective, call.algorithm, rank, nranks_, call.root, call.channels})));
  return flat;
}

// Cut as Plan::cut does it, except that slots take at least one element of each block: slotBytes has to do.
CallArguments VirtualCommunicator::argumentsOf(const VirtualCall& call, const FlatSchedule& flat) const {
  CallArguments arguments;
  std::uint64_t capacity = 0;
  for (Form form : {Form::raw, Form::partial, Form::result}) {
    const auto f = static_cast<std::size_t>(form);
    arguments.formBytes[f] = static_cast<std::uint32_t>(bytesOf(call.type, call.operation, form));
    const auto blocks = static_cast<std::uint64_t>(flat.mostLinkBlocks[f]);
    if (blocks == 0 || call.format != MailboxFormat::slots) continue;
    const std::uint64_t fits = std::max<std::uint64_t>(1, slotBytes_ / (blocks * arguments.formBytes[f]));
    capacity = capacity == 0 ? fits : std::min(capacity, fits);
  }
  arguments.cut = makeCut(call.count, static_cast<std::uint32_t>(flat.blocksPerSegment), capacity,
                          arguments.formBytes[static_cast<int>(Form::raw)]);
  arguments.reduction = {call.type, call.operation, static_cast<std::uint32_t>(nranks_)};
  return arguments;
}

bool VirtualCommunicator::serves(const VirtualCall& call) const {
  if (!tutti::serves(call.algorithm, call.collective, nranks_)) return false;
  const Flats flat = flattenAll(call);
  return std::all_of(flat.begin(), flat.end(), [&](const std::unique_ptr<FlatSchedule>& own) {
    return own->mayTravelAs(call.format) && largestMessage(*own, argumentsOf(call, *own)) <= slotBytes_;
  });
}

unsigned VirtualCommunicator::nblocksOf(const VirtualCall& call) const {
  std::size_t nlanes = 1;
  for (const auto& own : flattenAll(call)) nlanes = std::max(nlanes, own->lanes.size());
  return static_cast<unsigned>(nlanes) * static_cast<unsigned>(nranks_);
}

MailboxEnd* VirtualCommunicator::endOf(MailboxFormat format, int from, int to, int channel, bool sends) {
  const auto [known, isNew] = links_.try_emplace({format, from, to, channel});
  Link& link = known->second;
  if (isNew) {
    link.credit = arena_.place<std::uint64_t>(1);
    MailboxEnd end;
    end.format = format;
    end.nslots = format == MailboxFormat::slots ? nslots_ : 2;
    end.slotBytes = slotBytes_;
    end.stride = strideOf(format, slotBytes_);
    end.headers = arena_.place<SlotHeader>(end.nslots).device;
    end.slots =
        format == MailboxFormat::words
            ? reinterpret_cast<std::byte*>(arena_.place<std::uint64_t>(2 * wordsOf(slotBytes_)).device)
            : arena_.place<std::byte>(end.nslots * end.stride).device;
    end.credit = link.credit.device;
    link.sender = arena_.place<MailboxEnd>(1);
    link.receiver = arena_.place<MailboxEnd>(1);
    *link.sender.host = *link.receiver.host = end;
  }
  return sends ? link.sender.device : link.receiver.device;
}

void VirtualCommunicator::placeBuffers(PlacedCall& placed, int rank, const std::byte*& input,
                                       std::byte*& output) {
  const VirtualCall& call = placed.call;
  const std::size_t size = bytesOf(call.type);
  const auto in = call.count * static_cast<unsigned>(inputSegmentsOf(call.collective, nranks_));
  const auto out = call.count * static_cast<unsigned>(outputSegmentsOf(call.collective, nranks_));
  if (!call.inPlace) {
    const auto from = arena_.place<std::byte>(in * size, call.inputSkew * size);
    const auto to = arena_.place<std::byte>(out * size, call.outputSkew * size);
    fillInput(placed, rank, from.host, in);
    std::fill(to.host, to.host + out * size, kPoison);
    placed.buffers.push_back({from.host, in * size});
    placed.buffers.push_back({to.host, out * size});
    placed.outputs.push_back(to.host);
    input = from.device;
    output = to.device;
    return;
  }
  // The one with fewer segments lies in the rank's own segment of the other one.
  const auto all = arena_.place<std::byte>(std::max(in, out) * size, call.inputSkew * size);
  const std::uint64_t own = static_cast<unsigned>(rank) * call.count * size;
  const std::uint64_t inputAt = in < out ? own : 0;
  const std::uint64_t outputAt = out < in ? own : 0;
  std::fill(all.host, all.host + std::max(in, out) * size, kPoison);
  fillInput(placed, rank, all.host + inputAt, in);
  placed.buffers.push_back({all.host, std::max(in, out) * size});
  placed.outputs.push_back(all.host + outputAt);
  input = all.device + inputAt;
  output = all.device + outputAt;
}

void VirtualCommunicator::placeLane(PlacedCall& placed, int rank, std::size_t index, const FlatLane& from,
                                    VirtualLane& lane) {
  const LaneImage image(from.program);
  const VirtualLane room = lane;
  lane = image.onHost();
  lane.program.steps = copied(arena_, image.steps);
  lane.program.runs = copied(arena_, image.runs);
  lane.program.operands = copied(arena_, image.operands);
  lane.program.stepEnds = copied(arena_, image.stepEnds);
  std::vector<MailboxEnd*> ends;
  for (const LinkUse& use : from.ends)
    ends.push_back(use.sends ? endOf(room.format, rank, use.peer, use.channel, true)
                             : endOf(room.format, use.peer, rank, use.channel, false));
  lane.ends = copied(arena_, ends);
  lane.format = room.format;
  lane.scratch = room.scratch;
  lane.scratchStride = room.scratchStride;
  lane.stagingStride = room.stagingStride;
  placed.hasLane[index] = lane.program.nsteps != 0;
  placed.nsteps[index] = std::uint64_t{lane.program.nsteps} * placed.calls[rank].cut.rounds;
}

PlacedCall VirtualCommunicator::place(const VirtualCall& call, MailboxFormat carriedAs) {
  const Flats flat = flattenAll(call);
  std::size_t nlanes = 1;
  for (const auto& own : flat) nlanes = std::max(nlanes, own->lanes.size());
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
  placed.launch.type = call.type;
  placed.launch.operation = call.operation;
  placed.launch.nranks = static_cast<unsigned>(nranks);
  placed.launch.nlanes = static_cast<unsigned>(nlanes);
  placed.launch.lanes = lanes.device;
  placed.launch.calls = calls.device;
  placed.launch.outcomes = outcomes.device;
  placed.launch.repeats = call.repeats;

  CallArguments arguments = argumentsOf(call, *flat[0]);
  arguments.tag = 0x01000193u * static_cast<std::uint32_t>(placed.number + 1);
  arguments.shape = placed.number + 1;
  arguments.peerInputs = peerInputs.device;
  arguments.peerOutputs = peerOutputs.device;
  VirtualLane room{};
  room.format = carriedAs;
  room.scratchStride = roundedUp(arguments.cut.roundElements *
                                 *std::max_element(arguments.formBytes, arguments.formBytes + 3));
  for (std::size_t rank = 0; rank < nranks; ++rank) {
    const FlatSchedule& own = *flat[rank];
    placeBuffers(placed, static_cast<int>(rank), peerInputs.host[rank], peerOutputs.host[rank]);
    calls.host[rank] = arguments;
    calls.host[rank].input = peerInputs.host[rank];
    calls.host[rank].output = peerOutputs.host[rank];
    room.scratch =
        arena_.place<std::byte>(room.scratchStride * static_cast<unsigned>(own.scratchSegments)).device;
    room.stagingStride = roundedUp(largestMessage(own, arguments));
    for (std::size_t l = 0; l < own.lanes.size(); ++l) {
      const std::size_t index = rank * nlanes + l;
      lanes.host[index] = room;
      placeLane(placed, static_cast<int>(rank), index, own.lanes[l], lanes.host[index]);
    }
  }
  return placed;
}

float VirtualCommunicator::exactOf(const PlacedCall& placed, int rank, std::uint64_t index) const {
  const VirtualCall& call = placed.call;
  switch (call.collective) {
    case Collective::broadcast:
      return exactContribution(placed.number, call.root, index);
    case Collective::allGather:
      return exactContribution(placed.number, static_cast<int>(index / call.count), index % call.count);
    case Collective::reduceScatter:
      index += static_cast<unsigned>(rank) * call.count;
      break;
    default:
      break;
  }
  float sum = 0;
  for (int from = 0; from < nranks_; ++from) sum += exactContribution(placed.number, from, index);
  return sum;
}

std::vector<std::string> VirtualCommunicator::faultsOf(const PlacedCall& placed) const {
  std::vector<std::string> faults;
  const std::size_t nlanes = placed.launch.nlanes;
  for (std::size_t i = 0; i < placed.hasLane.size(); ++i) {
    if (!placed.hasLane[i]) continue;
    const LaneOutcome& outcome = placed.outcomes[i];
    if (outcome.calls != placed.call.repeats || outcome.stepsFired != placed.nsteps[i])
      faults.push_back(fmt::format(
          "{}: rank {} lane {} waits at step {} of round {} after {} of {} steps of call {} of {}{}",
          describe(placed.call), i / nlanes, i % nlanes, outcome.step, outcome.round, outcome.stepsFired,
          placed.nsteps[i], outcome.calls + 1, placed.call.repeats,
          outcome.suspicious ? ", and met another call" : ""));
    else if (outcome.suspicious)
      faults.push_back(fmt::format("{}: rank {} lane {} met a message of another call, though it ended",
                                   describe(placed.call), i / nlanes, i % nlanes));
  }
  return faults;
}

std::vector<std::string> VirtualCommunicator::faultsOfExact(const PlacedCall& placed) const {
  const VirtualCall& call = placed.call;
  if (call.collective == Collective::barrier) return {};
  std::vector<std::string> faults;
  const auto out = call.count * static_cast<unsigned>(outputSegmentsOf(call.collective, nranks_));
  for (int rank = 0; rank < nranks_; ++rank) {
    if (call.collective == Collective::reduce && rank != call.root) continue;
    for (std::uint64_t i = 0; i < out; ++i) {
      float got;
      std::memcpy(&got, placed.outputs[static_cast<std::size_t>(rank)] + i * sizeof(got), sizeof(got));
      const float want = exactOf(placed, rank, i);
      if (got == want) continue;
      faults.push_back(
          fmt::format("{}: rank {} element {} is {}, not {}", describe(call), rank, i, got, want));
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
    const bool credits = std::get<0>(key) == MailboxFormat::slots;
    if (sender.messages != receiver.messages || sender.bytes != receiver.bytes ||
        sender.slot != receiver.slot || *link.credit.host != (credits ? receiver.messages : 0))
      faults.push_back(
          fmt::format("link {}->{} #{}{}: {} messages sent, {} taken, credit {}; {} bytes sent, {} taken",
                      std::get<1>(key), std::get<2>(key), std::get<3>(key), nameOf(std::get<0>(key)),
                      sender.messages, receiver.messages, *link.credit.host, sender.bytes, receiver.bytes));
  }
  return faults;
}

std::vector<VirtualRanks> launchesOf(const std::vector<PlacedCall>& calls) {
  std::vector<VirtualRanks> launches;
  for (const PlacedCall& placed : calls) launches.push_back(placed.launch);
  return launches;
}

bool isDone(const PlacedCall& placed) {
  for (std::size_t i = 0; i < placed.hasLane.size(); ++i) {
    if (placed.hasLane[i] && placed.outcomes[i].calls != placed.launch.repeats) return false;
  }
  return true;
}

std::vector<std::string> differencesOf(const PlacedCall& placed, const PlacedCall& wanted) {
  std::vector<std::string> faults;
  const std::size_t perRank = placed.call.inPlace ? 1 : 2;
  for (std::size_t b = 0; b < placed.buffers.size(); ++b) {
    const PlacedBuffer& got = placed.buffers[b];
    const PlacedBuffer& want = wanted.buffers[b];
    const std::string difference =
        got.bytes != want.bytes ? fmt::format("{} bytes, not {}", got.bytes, want.bytes)
                                : differenceOf(got.host, want.host, got.bytes, bytesOf(placed.call.type));
    if (!difference.empty())
      faults.push_back(fmt::format("{}: rank {}, {}: {}", describe(placed.call), b / perRank,
                                   perRank == 1 ? "the buffer"
                                   : b % 2 == 0 ? "the input"
                                                : "the output",
                                   difference));
  }
  return faults;
}

}  // namespace tutti::cuda
