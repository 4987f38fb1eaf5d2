// See job.h.
#include "job.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <optional>

#include "collectives/flatten.h"
#include "kernels/advance-inl.h"

namespace tutti::emulation {
namespace {

constexpr std::size_t kMostFaults = 5;
constexpr std::size_t kGuardBytes = 64;
constexpr std::byte kPoison{0xc3};

// --- numbers: small integers, so that every sum is exact in any order ---

std::uint32_t contribution(DataType type, int call, int rank, std::uint64_t index) {
  std::uint64_t hash =
      (static_cast<std::uint64_t>(call) * 64 + static_cast<unsigned>(rank) + 1) * 0x9e3779b97f4a7c15 +
      index * 0xd6e8feb86659fd93;
  hash ^= hash >> 29;
  hash *= 0xbf58476d1ce4e5b9;
  hash ^= hash >> 32;
  return static_cast<std::uint32_t>(hash % (type == DataType::bf16 ? 31 : 65521));
}

std::uint32_t bitsOf(DataType type, std::uint32_t value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return type == DataType::bf16 ? bits >> 16 : bits;
}

std::uint32_t loadBits(DataType type, const std::byte* data, std::uint64_t index) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, data + index * bytesOf(type), bytesOf(type));
  return bits;
}

void storeBits(DataType type, std::byte* data, std::uint64_t index, std::uint32_t bits) {
  std::memcpy(data + index * bytesOf(type), &bits, bytesOf(type));
}

// --- buffers ---

class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : bytes_(bytes + 2 * kGuardBytes, kPoison) {}

  std::byte* data() { return bytes_.data() + kGuardBytes; }
  std::size_t size() const { return bytes_.size() - 2 * kGuardBytes; }
  void poison() { std::fill(bytes_.begin(), bytes_.end(), kPoison); }
  // True when nothing but [begin, end) was written.
  bool isPoisonedOutside(std::size_t begin, std::size_t end) const {
    const auto poisoned = [](std::byte byte) { return byte == kPoison; };
    const auto at = [this](std::size_t offset) {
      return bytes_.begin() + static_cast<std::ptrdiff_t>(kGuardBytes + offset);
    };
    return std::all_of(bytes_.begin(), at(begin), poisoned) && std::all_of(at(end), bytes_.end(), poisoned);
  }

 private:
  std::vector<std::byte> bytes_;
};

struct RankBuffers {
  RankBuffers(std::size_t inputBytes, std::size_t outputBytes) : input(inputBytes), output(outputBytes) {}

  Buffer input;
  Buffer output;  // in place: both
  std::byte* in = nullptr;
  std::byte* out = nullptr;
};

// --- one schedule of a call, for all ranks ---

struct Stage {
  std::vector<std::unique_ptr<FlatSchedule>> flat;          // by rank
  std::vector<std::vector<std::vector<MailboxEnd*>>> ends;  // by rank and lane
  std::vector<CallArguments> arguments;                     // by rank
  std::vector<FitStorage> fits;                             // by rank and thread of a block
  std::vector<std::unique_ptr<std::byte[]>> scratch;        // by rank
  std::uint64_t scratchStride = 0;
};

bool needsExchange(const Call& call) {
  return call.algorithm == Algorithm::twoShotWindow;
}

std::vector<std::unique_ptr<FlatSchedule>> flattenAll(const Job& job, const Call& call) {
  std::vector<std::unique_ptr<FlatSchedule>> flat;
  for (int rank = 0; rank < job.nranks; ++rank)
    flat.push_back(
        flatten(buildSchedule({call.collective, call.algorithm, rank, job.nranks, call.root, job.channels})));
  return flat;
}

void fillFormBytes(DataType type, std::uint32_t (&formBytes)[3]) {
  for (Form form : {Form::raw, Form::partial, Form::result})
    formBytes[static_cast<int>(form)] = static_cast<std::uint32_t>(bytesOf(type, Operation::sum, form));
}

// The most elements of a block such that every rank's messages fit a slot.
std::uint64_t capacityOf(const Stage& stage, std::uint64_t slotBytes, const std::uint32_t (&formBytes)[3]) {
  std::uint64_t capacity = 0;
  for (const auto& flat : stage.flat) {
    for (int form = 0; form < 3; ++form) {
      const auto blocks = static_cast<std::uint64_t>(flat->mostLinkBlocks[form]);
      if (blocks == 0) continue;
      const std::uint64_t fits = std::max<std::uint64_t>(1, slotBytes / (blocks * formBytes[form]));
      capacity = capacity == 0 ? fits : std::min(capacity, fits);
    }
  }
  return capacity;
}

// The largest message of a call cut in `cut`.
std::uint64_t largestMessage(const Stage& stage, const Cut& cut, const std::uint32_t (&formBytes)[3]) {
  std::uint64_t largest = 0;
  for (const auto& flat : stage.flat) {
    for (int form = 0; form < 3; ++form)
      largest = std::max(largest, static_cast<std::uint64_t>(flat->mostLinkBlocks[form]) *
                                      roundOf(cut, 0).blockSize * formBytes[form]);
  }
  return largest;
}

class Play {
 public:
  Play(const Job& job, const Body& body) : job_(job), body_(body), links_(shapeOf(job)) {
    std::size_t inputBytes = 0;
    std::size_t outputBytes = 0;
    for (const Call& call : job.calls) {
      const std::size_t segment = call.count * bytesOf(job.type);
      const auto input = segment * static_cast<unsigned>(inputSegmentsOf(call.collective, job.nranks));
      const auto output = segment * static_cast<unsigned>(outputSegmentsOf(call.collective, job.nranks));
      inputBytes = std::max(inputBytes, input);
      outputBytes = std::max({outputBytes, output, input});
    }
    for (int rank = 0; rank < job.nranks; ++rank)
      buffers_.push_back(std::make_unique<RankBuffers>(inputBytes, outputBytes));
    peerInputs_.resize(job.calls.size());
    peerOutputs_.resize(job.calls.size());
    for (std::size_t c = 0; c < job.calls.size(); ++c) {
      const Call& call = job.calls[c];
      for (int rank = 0; rank < job.nranks; ++rank) {
        peerInputs_[c].push_back(inputOf(call, rank));
        peerOutputs_[c].push_back(outputOf(call, rank));
      }
      if (needsExchange(call)) addStage(c, {Collective::barrier, Algorithm::oneShot, 0, false, 0});
      addStage(c, call);
      firstStage_.push_back(stages_.size() - (needsExchange(call) ? 2 : 1));
    }
    firstStage_.push_back(stages_.size());
    const std::size_t nthreads = static_cast<std::size_t>(job.nranks * nblocks_ * job.nthreads);
    lanes_.resize(nthreads);
    // A shared workspace has room for the lists of all threads, because lines are moved thread by thread. The
    // staging of words is the block's, in every workspace.
    // What has not been filled yet is noticed as wrong data, not as a crash.
    nobodys_.resize(8 * (inputBytes + outputBytes) + 64);
    sources_.resize(nthreads * operands_, {nobodys_.data(), Form::raw});
    destinations_.resize(nthreads * operands_, {nobodys_.data(), Form::raw});
    if (job.workspace == Workspace::oneThread || job.links.format == MailboxFormat::words) {
      stagingStride_ = (shapeOf(job).slotBytes + 15) / 16 * 16;
      staging_.resize(nthreads * nends_ * stagingStride_);
    }
    wrong_.resize(static_cast<std::size_t>(job.nranks));
    ended_.resize(static_cast<std::size_t>(job.nranks));
  }

  Report run(Machine machine, std::uint64_t seed) {
    Report report;
    report.played = machine({job_.nranks, nblocks_, job_.nthreads}, seed, static_cast<int>(job_.calls.size()),
                            [this](Thread& thread) { threadMain(thread); });
    for (const auto& wrong : wrong_) report.wrong.insert(report.wrong.end(), wrong.begin(), wrong.end());
    if (report.played.stalled) report.stall = whoWaits();
    if (job_.strangeRank >= 0) {
      judgeStrangeCall(report);
    } else {
      if (report.played.suspicions != 0) report.wrong.push_back("a message of another call was suspected");
      if (!report.played.stalled) {
        const auto faults = links_.faults();
        report.wrong.insert(report.wrong.end(), faults.begin(), faults.end());
      }
    }
    if (report.wrong.size() > kMostFaults) report.wrong.resize(kMostFaults);
    return report;
  }

 private:
  static LinkShape shapeOf(const Job& job) {
    LinkShape shape = job.links;
    if (shape.format == MailboxFormat::slots) {
      // Large enough for one element of every block of the largest message.
      for (const Call& call : job.calls) {
        std::uint32_t formBytes[3];
        fillFormBytes(job.type, formBytes);
        for (const auto& flat : flattenAll(job, call)) {
          for (int form = 0; form < 3; ++form)
            shape.slotBytes = std::max<std::uint64_t>(
                shape.slotBytes, static_cast<std::uint64_t>(flat->mostLinkBlocks[form]) * formBytes[form]);
        }
      }
      return shape;
    }
    for (const Call& call : job.calls) {
      std::uint32_t formBytes[3];
      fillFormBytes(job.type, formBytes);
      Stage stage;
      stage.flat = flattenAll(job, call);
      const Cut cut =
          makeCut(call.count, static_cast<std::uint32_t>(stage.flat[0]->blocksPerSegment), 0, formBytes[0]);
      shape.slotBytes = std::max(shape.slotBytes, largestMessage(stage, cut, formBytes));
    }
    return shape;
  }

  void addStage(std::size_t c, const Call& call) {
    Stage& stage = *stages_.emplace_back(std::make_unique<Stage>());
    stage.flat = flattenAll(job_, call);
    const auto nranks = static_cast<std::size_t>(job_.nranks);
    stage.ends.resize(nranks);
    stage.arguments.resize(nranks);
    CallArguments arguments;
    fillFormBytes(job_.type, arguments.formBytes);
    const bool slots = job_.links.format == MailboxFormat::slots;
    const std::uint64_t capacity =
        slots ? capacityOf(stage, shapeOf(job_).slotBytes, arguments.formBytes) : 0;
    arguments.cut = makeCut(call.count, static_cast<std::uint32_t>(stage.flat[0]->blocksPerSegment), capacity,
                            arguments.formBytes[0]);
    arguments.reduction = {job_.type, Operation::sum, static_cast<std::uint32_t>(job_.nranks)};
    arguments.tag = 0x01000193u * static_cast<std::uint32_t>(stages_.size());
    arguments.shape = stages_.size();
    stage.scratchStride =
        arguments.cut.roundElements * *std::max_element(arguments.formBytes, arguments.formBytes + 3);
    for (std::size_t rank = 0; rank < nranks; ++rank) {
      const FlatSchedule& flat = *stage.flat[rank];
      nblocks_ = std::max(nblocks_, static_cast<int>(flat.lanes.size()));
      for (const FlatLane& lane : flat.lanes) {
        auto& ends = stage.ends[rank].emplace_back();
        const int own = static_cast<int>(rank);
        for (const LinkUse& use : lane.ends)
          ends.push_back(use.sends ? links_.end(own, use.peer, use.channel, true)
                                   : links_.end(use.peer, own, use.channel, false));
        operands_ = std::max<std::size_t>(operands_, lane.program.mostOperands);
        nends_ = std::max<std::size_t>(nends_, lane.program.nends);
      }
      stage.scratch.push_back(std::make_unique<std::byte[]>(
          stage.scratchStride * static_cast<unsigned>(flat.scratchSegments) + 1));
      for (int thread = 0; thread < job_.nthreads; ++thread) stage.fits.emplace_back(flat);
      stage.arguments[rank] = arguments;
      stage.arguments[rank].input = peerInputs_[c][rank];
      stage.arguments[rank].output = peerOutputs_[c][rank];
      stage.arguments[rank].peerInputs = peerInputs_[c].data();
      stage.arguments[rank].peerOutputs = peerOutputs_[c].data();
    }
    if (job_.strangeRank >= 0 && c + 1 == job_.calls.size()) {
      CallArguments& strange = stage.arguments[static_cast<std::size_t>(job_.strangeRank)];
      if (job_.strangeSize)
        strange.cut = makeCut(call.count - 1, strange.cut.blocks, capacity, strange.formBytes[0]);
      else
        strange.tag ^= 0x5a5a;
    }
  }

  std::size_t segmentBytes(const Call& call) const { return call.count * bytesOf(job_.type); }

  std::byte* inputOf(const Call& call, int rank) {
    RankBuffers& buffers = *buffers_[static_cast<std::size_t>(rank)];
    if (!call.inPlace) return buffers.input.data();
    const bool gathers = call.collective == Collective::allGather;
    return buffers.output.data() + (gathers ? segmentBytes(call) * static_cast<unsigned>(rank) : 0);
  }

  std::byte* outputOf(const Call& call, int rank) {
    RankBuffers& buffers = *buffers_[static_cast<std::size_t>(rank)];
    const bool scatters = call.inPlace && call.collective == Collective::reduceScatter;
    return buffers.output.data() + (scatters ? segmentBytes(call) * static_cast<unsigned>(rank) : 0);
  }

  std::uint64_t inputElements(const Call& call) const {
    return call.count * static_cast<unsigned>(inputSegmentsOf(call.collective, job_.nranks));
  }
  std::uint64_t outputElements(const Call& call) const {
    return call.count * static_cast<unsigned>(outputSegmentsOf(call.collective, job_.nranks));
  }

  static bool givesInput(const Call& call, int rank) {
    return call.collective != Collective::broadcast || rank == call.root;
  }
  static bool getsOutput(const Call& call, int rank) {
    return call.collective != Collective::reduce || rank == call.root;
  }

  std::uint32_t expected(const Call& call, int c, int rank, std::uint64_t index) const {
    const auto r = static_cast<unsigned>(rank);
    switch (call.collective) {
      case Collective::broadcast:
        return contribution(job_.type, c, call.root, index);
      case Collective::allGather:
        return contribution(job_.type, c, static_cast<int>(index / call.count), index % call.count);
      case Collective::reduceScatter:
        index += r * call.count;
        break;
      default:
        break;
    }
    std::uint32_t sum = 0;
    for (int from = 0; from < job_.nranks; ++from) sum += contribution(job_.type, c, from, index);
    return sum;
  }

  void prepare(int c, int rank) {
    const Call& call = job_.calls[static_cast<std::size_t>(c)];
    RankBuffers& buffers = *buffers_[static_cast<std::size_t>(rank)];
    buffers.input.poison();
    buffers.output.poison();
    if (!givesInput(call, rank)) return;
    for (std::uint64_t i = 0; i < inputElements(call); ++i)
      storeBits(job_.type, inputOf(call, rank), i, bitsOf(job_.type, contribution(job_.type, c, rank, i)));
  }

  void check(int c, int rank) {
    const Call& call = job_.calls[static_cast<std::size_t>(c)];
    RankBuffers& buffers = *buffers_[static_cast<std::size_t>(rank)];
    auto& wrong = wrong_[static_cast<std::size_t>(rank)];
    const auto say = [&](const std::string& what) {
      if (wrong.size() < kMostFaults) wrong.push_back(fmt::format("call {} rank {}: {}", c, rank, what));
    };
    const bool gets = getsOutput(call, rank);
    std::byte* output = outputOf(call, rank);
    for (std::uint64_t i = 0; gets && i < outputElements(call); ++i) {
      const std::uint32_t want = bitsOf(job_.type, expected(call, c, rank, i));
      const std::uint32_t got = loadBits(job_.type, output, i);
      if (got != want) {
        say(fmt::format("element {} is {:#x}, not {:#x}", i, got, want));
        break;
      }
    }
    const bool writesInput = call.inPlace && gets;
    const std::byte* input = inputOf(call, rank);
    for (std::uint64_t i = 0; givesInput(call, rank) && i < inputElements(call); ++i) {
      const std::byte* element = input + i * bytesOf(job_.type);
      if (writesInput && element >= output && element < output + outputElements(call) * bytesOf(job_.type))
        continue;
      if (loadBits(job_.type, input, i) != bitsOf(job_.type, contribution(job_.type, c, rank, i))) {
        say(fmt::format("element {} of the input was changed", i));
        break;
      }
    }
    std::size_t begin = gets ? static_cast<std::size_t>(output - buffers.output.data()) : 0;
    std::size_t end = begin + (gets ? outputElements(call) * bytesOf(job_.type) : 0);
    if (call.inPlace && givesInput(call, rank)) {
      begin = 0;
      end = std::max<std::size_t>(end, inputElements(call) * bytesOf(job_.type));
    }
    if (!buffers.output.isPoisonedOutside(begin, end)) say("bytes outside of the output were written");
    const std::size_t read =
        call.inPlace || !givesInput(call, rank) ? 0 : inputElements(call) * bytesOf(job_.type);
    if (!buffers.input.isPoisonedOutside(0, read)) say("bytes outside of the input were written");
  }

  std::size_t indexOf(const Thread& thread) const {
    return (static_cast<std::size_t>(thread.rank() * nblocks_ + thread.block())) *
               static_cast<std::size_t>(job_.nthreads) +
           thread.tid();
  }

  void threadMain(Thread& thread) {
    const bool leads = thread.block() == 0 && thread.tid() == 0;
    for (std::size_t c = 0; c < job_.calls.size(); ++c) {
      if (leads) prepare(static_cast<int>(c), thread.rank());
      thread.syncRank();
      thread.enterCall(static_cast<int>(c));
      for (std::size_t s = firstStage_[c]; s < firstStage_[c + 1]; ++s) {
        runLane(thread, *stages_[s]);
        thread.syncRank();
      }
      thread.enterCall(-1);
      if (leads) {
        check(static_cast<int>(c), thread.rank());
        ended_[static_cast<std::size_t>(thread.rank())] = c + 1;
      }
    }
  }

  void runLane(Thread& thread, Stage& stage) {
    const auto rank = static_cast<std::size_t>(thread.rank());
    const auto block = static_cast<std::size_t>(thread.block());
    const FlatSchedule& flat = *stage.flat[rank];
    if (block >= flat.lanes.size()) return;
    const std::size_t index = indexOf(thread);
    const std::size_t first = job_.workspace == Workspace::shared ? index - thread.tid() : index;
    LaneState& lane = lanes_[index];
    lane = {};
    lane.program = &flat.lanes[block].program;
    lane.ends = stage.ends[rank][block].data();
    lane.format = job_.links.format;
    lane.scratch = stage.scratch[rank].get();
    lane.scratchStride = stage.scratchStride;
    lane.sources = sources_.data() + first * operands_;
    lane.destinations = destinations_.data() + first * operands_;
    if (!staging_.empty()) lane.staging = staging_.data() + (index - thread.tid()) * nends_ * stagingStride_;
    lane.stagingStride = stagingStride_;
    const CallArguments& arguments = stage.arguments[rank];
    const unsigned fit = job_.workspace == Workspace::shared ? 0 : thread.tid();
    lane.fit = stage.fits[rank * static_cast<unsigned>(job_.nthreads) + fit].of(flat.lanes[block]);
    body_.begin(thread, lane, arguments, job_.workspace);
    while (!lane.done) {
      if (!body_.advance(thread, lane, job_.workspace)) thread.miss();
    }
    const std::uint64_t steps = static_cast<std::uint64_t>(lane.program->nsteps) * arguments.cut.rounds;
    if (thread.tid() == 0 && lane.stepsFired != steps && block == 0)
      wrong_[rank].push_back(fmt::format("rank {}: {} steps fired, not {}", rank, lane.stepsFired, steps));
  }

  std::string whoWaits() const {
    std::string text;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      const LaneState& lane = lanes_[i];
      if (lane.done || lane.program == nullptr) continue;
      const auto nthreads = static_cast<std::size_t>(job_.nthreads);
      const auto nblocks = static_cast<std::size_t>(nblocks_);
      text +=
          fmt::format("{}rank {} lane {} thread {} at step {} of round {}", text.empty() ? "" : "; ",
                      i / nthreads / nblocks, i / nthreads % nblocks, i % nthreads, lane.step, lane.round);
      if (text.size() > 300) return text + "; ...";
    }
    return text.empty() ? "nobody is in a lane" : text;
  }

  // Right is: suspected, and nobody has ended the call.
  void judgeStrangeCall(Report& report) const {
    for (std::size_t rank = 0; rank < ended_.size(); ++rank) {
      if (ended_[rank] == job_.calls.size())
        report.wrong.push_back(fmt::format("rank {} has taken a message of another call", rank));
    }
    if (report.wrong.empty() && report.played.suspicions == 0)
      report.wrong.push_back("a message of another call was not noticed");
    report.stall.clear();
  }

  const Job& job_;
  const Body& body_;
  Links links_;
  std::vector<std::unique_ptr<RankBuffers>> buffers_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::size_t> firstStage_;  // by call; one more at the end
  std::vector<std::vector<const std::byte*>> peerInputs_;
  std::vector<std::vector<std::byte*>> peerOutputs_;
  int nblocks_ = 1;
  std::size_t operands_ = 1;
  std::size_t nends_ = 1;  // of a lane, at most
  std::vector<LaneState> lanes_;
  std::vector<Source> sources_;
  std::vector<Destination> destinations_;
  std::vector<std::byte> nobodys_;
  std::vector<std::byte> staging_;
  std::size_t stagingStride_ = 0;
  std::vector<std::vector<std::string>> wrong_;  // by rank: its leader writes
  std::vector<std::size_t> ended_;               // by rank: calls
};

}  // namespace

Report play(const Job& job, Machine machine, std::uint64_t seed, const Body& body) {
  return Play(job, body).run(machine, seed);
}

bool canTravel(const Job& job) {
  if (job.links.format == MailboxFormat::slots) return true;
  if (job.links.format == MailboxFormat::words && job.workspace == Workspace::oneThread) return false;
  const bool ofOneSize = job.links.format == MailboxFormat::lines && job.workspace != Workspace::oneThread;
  std::uint32_t formBytes[3];
  fillFormBytes(job.type, formBytes);
  for (const Call& call : job.calls) {
    std::uint32_t size = 0;
    for (const auto& flat : flattenAll(job, call)) {
      if (!flat->mayTravelAs(job.links.format)) return false;
      for (int form = 0; form < 3; ++form) {
        if (flat->mostLinkBlocks[form] == 0 || !ofOneSize) continue;
        if (size != 0 && size != formBytes[form]) return false;
        size = formBytes[form];
      }
    }
  }
  return true;
}

std::string describe(const Job& job) {
  constexpr const char* workspaces[] = {"own workspaces", "shared workspace", "one host thread"};
  std::string text = fmt::format("{} ranks, {} channels, {} threads, {}, {}, counters from {}, ", job.nranks,
                                 job.channels, job.nthreads, workspaces[static_cast<int>(job.workspace)],
                                 nameOf(job.type), job.links.firstMessage);
  text += job.links.format == MailboxFormat::slots
              ? fmt::format("{} slots of {} bytes:", job.links.nslots, job.links.slotBytes)
              : fmt::format("{}:", nameOf(job.links.format));
  for (const Call& call : job.calls)
    text += fmt::format(" {} {} of {}{}{};", nameOf(call.algorithm), nameOf(call.collective), call.count,
                        call.inPlace ? " in place" : "",
                        isRooted(call.collective) ? fmt::format(" root {}", call.root) : "");
  if (job.strangeRank >= 0) text += fmt::format(" the last one of rank {} is another call", job.strangeRank);
  return text;
}

}  // namespace tutti::emulation
