// See checker_run.h. Lanes wait in a list of those that may go on; a lane that must wait remembers the link
// it waits for and is put back by whoever changes it.
#include "collectives/checker_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "collectives/checker_memory.h"
#include "collectives/checker_order.h"
#include "collectives/checker_values.h"

namespace tutti {
namespace {

constexpr int kNothing = -1;   // a cell that nobody has written
constexpr int kUserData = -2;  // a cell of an input that nobody has read yet
constexpr int kForms = 3;

using RankSet = std::vector<std::uint64_t>;

void unite(RankSet& set, const RankSet& other) {
  for (std::size_t w = 0; w < set.size(); ++w) set[w] |= other[w];
}

bool contains(const RankSet& set, int rank) {
  return (set[rank / 64] >> (rank % 64) & 1) != 0;
}

// What one firing of a step puts on its links: the same for all of them.
struct Packet {
  int references = 0;
  std::array<std::vector<int>, kForms> values;
  RankSet begun;
  VectorClock clock;
  std::int64_t depth = 0;
};

struct LaneRun {
  int step = 0;  // next to fire, within its lane
  int round = 0;
  int place = 0;  // the first place of the step that has not been seen to be ready
  int waitsFor = -1;
  bool listed = true;
  bool done = false;
  std::int64_t depth = 0;
  RankSet begun;  // ranks known to have begun the call
  VectorClock clock;
};

struct LinkRun {
  int count = 0;
  int head = 0;
};

class Run {
 public:
  Run(const CheckNetwork& network, const CheckOptions& options, CheckReport& report)
      : network_(network),
        options_(options),
        report_(report),
        memory_(network, options.endsOnly ? 0 : options.rounds, options.inPlace),
        values_(network.nranks),
        lanes_(network.lanes.size()),
        links_(network.links.size()) {
    report_.stepsFired.assign(network.nranks, 0);
    if (!options.endsOnly) prepare();
  }

  void go() {
    for (int lane = static_cast<int>(lanes_.size()) - 1; lane >= 0; --lane) {
      if (network_.lanes[lane].nsteps == 0) lanes_[lane].done = true;
      list_.push_back(lane);
    }
    while (!list_.empty()) {
      const int lane = list_.back();
      list_.pop_back();
      lanes_[lane].listed = false;
      while (!lanes_[lane].done && ready(lane)) fire(lane);
    }
    const bool ended =
        std::all_of(lanes_.begin(), lanes_.end(), [](const LaneRun& lane) { return lane.done; });
    if (!ended) {
      reportDeadlock();
      return;
    }
    if (options_.endsOnly) return;
    checkOutputs();
    checkClosedness();
    if (order_) {
      checkPeersLeft();
      report_.checks += order_->comparisons();
    }
  }

 private:
  using NetPlace = CheckNetwork::NetPlace;
  using NetStep = CheckNetwork::NetStep;

  void prepare() {
    CheckMemory oneRound(network_, 1, options_.inPlace);
    withOrder_ = oneRound.needsOrder();
    cells_.assign(memory_.cells(), kNothing);
    for (int rank = 0; rank < network_.nranks; ++rank) {
      for (int round = 0; round < options_.rounds; ++round) {
        for (int b = 0; b < network_.inputBlocks[rank]; ++b)
          cells_[memory_.input(rank, b, round)] = kUserData;
      }
    }
    slots_.resize(links_.size() * options_.slots);
    const std::size_t words = (network_.nranks + 63) / 64;
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      const int rank = network_.lanes[lane].rank;
      lanes_[lane].begun.assign(words, network_.afterExchange ? ~std::uint64_t{0} : 0);
      lanes_[lane].begun[rank / 64] |= std::uint64_t{1} << (rank % 64);
      if (withOrder_) lanes_[lane].clock.assign(lanes_.size(), 0);
    }
    if (!withOrder_) return;
    order_.emplace(memory_.cells());
    if (network_.usesWindows) {
      lastTouch_.assign(network_.nranks, std::vector<std::uint32_t>(lanes_.size(), 0));
    }
  }

  const NetStep& stepOf(int lane) const {
    return network_.steps[network_.lanes[lane].firstStep + lanes_[lane].step];
  }

  // What was ready stays ready, because each end has one lane: so a lane goes on from the place where it
  // stopped.
  bool ready(int lane) {
    LaneRun& run = lanes_[lane];
    const NetStep& step = stepOf(lane);
    for (; run.place < step.nsources + step.ndestinations; ++run.place) {
      const int link = network_.places[step.firstPlace + run.place].link;
      if (link < 0) continue;
      const int count = links_[link].count;
      if (run.place < step.nsources ? count > 0 : count < options_.slots) continue;
      run.waitsFor = link;
      return false;
    }
    run.waitsFor = -1;
    return true;
  }

  void fire(int lane) {
    LaneRun& run = lanes_[lane];
    const NetStep& step = stepOf(lane);
    ++report_.stepsFired[network_.lanes[lane].rank];
    ++report_.checks;
    if (!options_.endsOnly) act(lane, step);
    for (int i = 0; i < step.nsources + step.ndestinations; ++i) {
      const int link = network_.places[step.firstPlace + i].link;
      if (link < 0) continue;
      links_[link].count += i < step.nsources ? -1 : 1;
      wake(i < step.nsources ? network_.links[link].sender : network_.links[link].receiver, link);
    }
    run.place = 0;
    if (++run.step < network_.lanes[lane].nsteps) return;
    run.step = 0;
    run.done = ++run.round == options_.rounds;
  }

  void wake(int lane, int link) {
    LaneRun& run = lanes_[lane];
    if (run.listed || run.done || run.waitsFor != link) return;
    run.listed = true;
    list_.push_back(lane);
  }

  // Takes the messages, learns what they know, moves or adds the values, and posts.
  void act(int lane, const NetStep& step) {
    LaneRun& run = lanes_[lane];
    taken_.assign(step.nsources, -1);
    for (int i = 0; i < step.nsources; ++i) {
      const int link = network_.places[step.firstPlace + i].link;
      if (link < 0) continue;
      LinkRun& at = links_[link];
      const int packet = slots_[static_cast<std::size_t>(link) * options_.slots + at.head];
      at.head = (at.head + 1) % options_.slots;
      taken_[i] = packet;
      unite(run.begun, packets_[packet].begun);
      run.depth = std::max(run.depth, packets_[packet].depth);
      if (withOrder_) join(run.clock, packets_[packet].clock);
    }
    ++run.depth;
    report_.longestPath = std::max(report_.longestPath, run.depth);
    if (withOrder_) ++run.clock[lane];

    for (auto& list : made_) list.clear();
    if (step.nblocks > 0) {
      touch(lane, step);
      for (int b = 0; b < step.nblocks; ++b) moveBlock(lane, step, b);
    }
    post(lane, step);
    for (const int packet : taken_) {
      if (packet >= 0 && --packets_[packet].references == 0) freePackets_.push_back(packet);
    }
  }

  // Puts the accesses of a step in order, reads before writes.
  void touch(int lane, const NetStep& step) {
    if (!withOrder_) return;
    LaneRun& run = lanes_[lane];
    for (int i = 0; i < step.nsources + step.ndestinations; ++i) {
      const NetPlace& place = network_.places[step.firstPlace + i];
      if (place.link >= 0) continue;
      for (int b = place.block; b < place.block + place.nblocks; ++b) {
        const std::size_t cell = memory_.at(place, b, run.round);
        const int other =
            i < step.nsources ? order_->read(cell, lane, run.clock) : order_->write(cell, lane, run.clock);
        if (other >= 0) {
          find(FindingKind::race, lane, b,
               fmt::format(
                   "no message puts this in order with rank {} lane {}, which {} the same block of rank {}{}",
                   network_.lanes[other].rank, network_.lanes[other].index,
                   i < step.nsources ? "writes" : "reads or writes", place.owner,
                   options_.inPlace ? " in an in-place call" : ""));
        }
      }
      if (place.owner == network_.lanes[lane].rank) continue;
      lastTouch_[place.owner][lane] = run.clock[lane];
      ++report_.checks;
      if (!contains(run.begun, place.owner)) {
        find(FindingKind::race, lane, place.block,
             fmt::format("touches memory of rank {} before it is known to have begun the call", place.owner));
      }
    }
  }

  void moveBlock(int lane, const NetStep& step, int b) {
    const LaneRun& run = lanes_[lane];
    operands_.clear();
    for (int i = 0; i < step.nsources; ++i) {
      const NetPlace& place = network_.places[step.firstPlace + i];
      if (place.nblocks > 0) operands_.push_back(operand(lane, place, taken_[i], b));
    }
    std::array<int, kForms> results;
    results.fill(kNothing);
    const bool whole = std::find(operands_.begin(), operands_.end(), kNothing) == operands_.end();
    if (whole && !step.copies) beginSum(lane, step, b);
    for (int i = step.nsources; i < step.nsources + step.ndestinations; ++i) {
      const NetPlace& place = network_.places[step.firstPlace + i];
      if (place.nblocks == 0) continue;
      const int form = static_cast<int>(place.form);
      int& value = results[form];
      if (value == kNothing && whole) {
        value = step.copies ? operands_[0] : values_.finish(place.form);
      }
      if (place.link < 0) {
        cells_[memory_.at(place, place.block + b, run.round)] = value;
      } else if (static_cast<int>(made_[form].size()) == b) {
        made_[form].push_back(value);
      }
    }
  }

  // The value that a place holds; kNothing after a finding.
  int operand(int lane, const NetPlace& place, int packet, int b) {
    const LaneRun& run = lanes_[lane];
    int value = kNothing;
    if (place.link >= 0) {
      value = packets_[packet].values[static_cast<int>(place.form)][b];
      if (value == kNothing) return value;  // found where it was made
    } else {
      int& cell = cells_[memory_.at(place, place.block + b, run.round)];
      const bool onInput = place.where == Where::input || place.where == Where::peerInput;
      if (cell == kUserData && onInput) cell = contribution(place.owner, place.block + b, run.round);
      value = cell;
      if (value < 0) {
        find(FindingKind::wrongData, lane, place.block + b, "reads a block that nobody has written");
        return kNothing;
      }
      const SymbolicValue& held = values_[value];
      if (place.where == Where::scratch && held.round != run.round) {
        find(FindingKind::wrongData, lane, place.block + b,
             fmt::format("reads in round {} what round {} left in scratch", run.round, held.round));
        return kNothing;
      }
      if (onInput &&
          (held.form != Form::raw || held.subBlock != (place.block + b) % network_.blocksPerSegment)) {
        find(FindingKind::wrongData, lane, place.block + b, "reads an input that an output has overwritten");
        return kNothing;
      }
    }
    ++report_.checks;
    const SymbolicValue& held = values_[value];
    if (held.form != place.form) {
      find(FindingKind::formError, lane, place.block + b,
           fmt::format("reads as {} what is {}", formName(place.form), formName(held.form)));
      return kNothing;
    }
    return value;
  }

  int contribution(int rank, int block, int round) {
    const int segment =
        network_.collective == Collective::allGather ? rank : block / network_.blocksPerSegment;
    return values_.addContribution(rank, segment, block % network_.blocksPerSegment, round);
  }

  void beginSum(int lane, const NetStep& step, int b) {
    values_.begin(operands_[0]);
    const SymbolicValue first = values_[operands_[0]];
    const int block = network_.places[step.firstPlace].block + b;
    for (std::size_t i = 1; i < operands_.size(); ++i) {
      const SymbolicValue& other = values_[operands_[i]];
      if (other.segment != first.segment || other.subBlock != first.subBlock || other.round != first.round) {
        find(FindingKind::wrongData, lane, block,
             fmt::format(
                 "adds sub-block {} of segment {} (round {}) to sub-block {} of segment {} (round {})",
                 other.subBlock, other.segment, other.round, first.subBlock, first.segment, first.round));
      }
      const int doubled = values_.add(operands_[i]);
      if (doubled >= 0) {
        find(FindingKind::doubledContribution, lane, block,
             fmt::format("adds the contribution of rank {} a second time", doubled));
      }
    }
  }

  void post(int lane, const NetStep& step) {
    int packet = -1;
    for (int i = step.nsources; i < step.nsources + step.ndestinations; ++i) {
      const int link = network_.places[step.firstPlace + i].link;
      if (link < 0) continue;
      if (packet < 0) packet = makePacket(lanes_[lane]);
      ++packets_[packet].references;
      const LinkRun& at = links_[link];
      // The count still holds the messages that this step takes from a link to itself.
      const int self = network_.links[link].receiver == lane ? takenFrom(step, link) : 0;
      const int slot = (at.head + at.count - self) % options_.slots;
      slots_[static_cast<std::size_t>(link) * options_.slots + slot] = packet;
    }
  }

  int takenFrom(const NetStep& step, int link) const {
    int taken = 0;
    for (int i = 0; i < step.nsources; ++i) taken += network_.places[step.firstPlace + i].link == link;
    return taken;
  }

  int makePacket(const LaneRun& run) {
    if (freePackets_.empty()) {
      freePackets_.push_back(static_cast<int>(packets_.size()));
      packets_.emplace_back();
    }
    const int id = freePackets_.back();
    freePackets_.pop_back();
    Packet& packet = packets_[id];
    for (int form = 0; form < kForms; ++form) packet.values[form] = made_[form];
    packet.begun = run.begun;
    packet.clock = run.clock;
    packet.depth = run.depth;
    return id;
  }

  // Names the circle of lanes that wait for each other, from the first that waits.
  void reportDeadlock() {
    int lane = 0;
    while (lanes_[lane].done) ++lane;
    std::vector<int> seen;
    const auto waited = [this](int at) {
      const CheckNetwork::NetLink& link = network_.links[lanes_[at].waitsFor];
      return link.receiver == at && lanes_[at].place < stepOf(at).nsources ? link.sender : link.receiver;
    };
    int next = lane;
    while (std::find(seen.begin(), seen.end(), next) == seen.end() && !lanes_[next].done) {
      seen.push_back(next);
      next = waited(next);
    }
    std::string text = fmt::format("with {} slots: ", options_.slots);
    for (std::size_t i = 0; i < seen.size() && i < 4; ++i) {
      const LaneRun& run = lanes_[seen[i]];
      const CheckNetwork::NetLink& link = network_.links[run.waitsFor];
      const bool forMessage = run.place < stepOf(seen[i]).nsources;
      text += fmt::format("{}{} in round {} waits for {} {} on channel {}", i == 0 ? "" : "; ",
                          network_.locate(seen[i], run.step), run.round,
                          forMessage ? "a message from rank" : "a free slot at rank",
                          forMessage ? link.from : link.to, link.channel);
    }
    if (seen.size() > 4) text += fmt::format("; and so on, {} lanes", seen.size());
    report_.findings.push_back({FindingKind::deadlock, network_.lanes[lane].rank, network_.lanes[lane].index,
                                lanes_[lane].step, -1, text});
  }

  void checkOutputs() {
    if (network_.collective == Collective::barrier) return;
    const bool sums = reduces(network_.collective);
    report_.orderPreserving = sums;
    // By data block and round: what the first rank to be looked at has.
    const int segments = network_.collective == Collective::reduceScatter
                             ? network_.nranks
                             : network_.schedules()[0].outputSegments;
    std::vector<std::uint64_t> expected(
        static_cast<std::size_t>(segments) * network_.blocksPerSegment * options_.rounds, 0);
    for (int rank = 0; rank < network_.nranks; ++rank) {
      if (!network_.mayTouchOutput(rank)) continue;
      for (int round = 0; round < options_.rounds; ++round) {
        for (int block = 0; block < network_.outputBlocks[rank]; ++block) {
          ++report_.checks;
          checkOutput(rank, round, block, sums, expected);
        }
      }
    }
  }

  void checkOutput(int rank, int round, int block, bool sums, std::vector<std::uint64_t>& expected) {
    const int perSegment = network_.blocksPerSegment;
    const int segment = network_.collective == Collective::reduceScatter ? rank : block / perSegment;
    const int subBlock = block % perSegment;
    const auto findHere = [&](FindingKind kind, const std::string& what) {
      if (full()) return;
      report_.findings.push_back(
          {kind, rank, -1, -1, block,
           fmt::format("rank {}, round {}: output block {} {}", rank, round, block, what)});
    };
    int id = cells_[memory_.output(rank, block, round)];
    if (id == kUserData) {
      // In place, and nobody has touched it: the user's own data, which is right for the root of a broadcast
      // only.
      id = sums ? kNothing : contribution(rank, block % network_.inputBlocks[rank], round);
    }
    if (id < 0) {
      findHere(FindingKind::missingContribution, "is never written with anything");
      return;
    }
    const SymbolicValue& value = values_[id];
    if (value.form != (sums ? Form::result : Form::raw)) {
      findHere(FindingKind::formError, fmt::format("ends as {}", formName(value.form)));
      return;
    }
    if (network_.collective == Collective::broadcast && values_.onlyContributor(id) != network_.root) {
      findHere(FindingKind::wrongRoot,
               fmt::format("holds data of rank {}; the root is {}", value.low, network_.root));
      return;
    }
    if (value.segment != segment || value.subBlock != subBlock || value.round != round) {
      findHere(FindingKind::wrongData, fmt::format("holds sub-block {} of segment {} of round {}",
                                                   value.subBlock, value.segment, value.round));
      return;
    }
    if (!sums) return;
    const int missing = values_.firstMissing(id);
    if (missing >= 0) {
      findHere(FindingKind::missingContribution, fmt::format("lacks the contribution of rank {}", missing));
      return;
    }
    report_.orderPreserving = report_.orderPreserving && value.ordered;
    std::uint64_t& same = expected[(static_cast<std::size_t>(round) * perSegment *
                                    (expected.size() / perSegment / options_.rounds)) +
                                   segment * perSegment + subBlock];
    if (same == 0) same = value.expression;
    if (same != value.expression) {
      findHere(FindingKind::differentBits, "was added in another order than on another rank");
    }
  }

  // More rounds let ranks know more, so that a schedule is not closed shows in one round only.
  void checkClosedness() {
    std::vector<RankSet> begun(network_.nranks, RankSet((network_.nranks + 63) / 64, 0));
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      unite(begun[network_.lanes[lane].rank], lanes_[lane].begun);
    }
    if (network_.collective == Collective::barrier) checkNobodyLeavesEarly(begun);
    const CheckNetwork::NetLink* open = nullptr;
    for (const CheckNetwork::NetLink& link : network_.links) {
      ++report_.checks;
      if (link.from != link.to && !contains(begun[link.from], link.to)) open = &link;
    }
    report_.closed = open == nullptr;
    if (report_.closed == network_.declaredClosed) return;
    if (open != nullptr) {
      report_.findings.push_back(
          {FindingKind::closednessWrong, open->from, network_.lanes[open->sender].index, -1, -1,
           fmt::format(
               "the schedule says it is closed, but rank {} may end the call before rank {}, to which it "
               "sends on channel {} (rank {} lane {} step {}), has begun it",
               open->from, open->to, open->channel, open->from, network_.lanes[open->sender].index,
               open->sent[0].step - network_.lanes[open->sender].firstStep)});
    } else if (options_.rounds == 1) {
      report_.findings.push_back({FindingKind::closednessWrong, 0, -1, -1, -1,
                                  "the schedule is closed and does not say so (rank 0 and all others)"});
    }
  }

  void checkNobodyLeavesEarly(const std::vector<RankSet>& begun) {
    for (int rank = 0; rank < network_.nranks; ++rank) {
      for (int other = 0; other < network_.nranks; ++other) {
        ++report_.checks;
        if (other == rank || contains(begun[rank], other) || full()) continue;
        report_.findings.push_back(
            {FindingKind::missingContribution, rank, -1, -1, -1,
             fmt::format("rank {} may leave the barrier before rank {} has come", rank, other)});
      }
    }
  }

  // Whoever ends the call gets its memory back, so the last access of every peer must come before that.
  void checkPeersLeft() {
    if (!network_.usesWindows) return;
    std::vector<VectorClock> end(network_.nranks, VectorClock(lanes_.size(), 0));
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
      join(end[network_.lanes[lane].rank], lanes_[lane].clock);
    }
    for (int rank = 0; rank < network_.nranks; ++rank) {
      for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        ++report_.checks;
        const std::uint32_t last = lastTouch_[rank][lane];
        if (last == 0 || last <= end[rank][lane] || full()) continue;
        const int step = static_cast<int>((last - 1) % network_.lanes[lane].nsteps);
        report_.findings.push_back(network_.findingAt(
            FindingKind::race, static_cast<int>(lane), step, -1,
            fmt::format("rank {} may end the call while this step still touches its memory", rank)));
      }
    }
  }

  static const char* formName(Form form) {
    return form == Form::raw ? "raw" : form == Form::partial ? "partial" : "result";
  }

  bool full() const { return static_cast<int>(report_.findings.size()) >= options_.mostFindings; }

  void find(FindingKind kind, int lane, int block, const std::string& what) {
    if (full()) return;
    report_.findings.push_back(
        network_.findingAt(kind, lane, lanes_[lane].step, block,
                           fmt::format("{} (block {}, round {})", what, block, lanes_[lane].round)));
  }

  const CheckNetwork& network_;
  const CheckOptions& options_;
  CheckReport& report_;
  CheckMemory memory_;
  ValuePool values_;
  std::vector<int> cells_;  // values by cell of memory_
  std::vector<LaneRun> lanes_;
  std::vector<LinkRun> links_;
  std::vector<int> slots_;  // packets, by link and slot
  std::vector<Packet> packets_;
  std::vector<int> freePackets_;
  std::vector<int> list_;  // lanes that may go on
  bool withOrder_ = false;
  std::optional<AccessHistory> order_;
  std::vector<std::vector<std::uint32_t>> lastTouch_;  // by owner and lane: the last time it touched a window

  // Of the step that fires.
  std::vector<int> taken_;     // packets, by source
  std::vector<int> operands_;  // values
  std::array<std::vector<int>, kForms> made_;
};

}  // namespace

void runNetwork(const CheckNetwork& network, const CheckOptions& options, CheckReport& report) {
  Run(network, options, report).go();
}

}  // namespace tutti
