// See checker_network.h. A finding that leaves nothing to run is a refusal.
#include "collectives/checker_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

namespace tutti {

CheckNetwork::CheckNetwork(const std::vector<Schedule>& perRank, Collective theCollective, int theRoot)
    : collective(theCollective),
      root(theRoot),
      nranks(static_cast<int>(perRank.size())),
      schedules_(perRank),
      scratch_(perRank.size()),
      linksFrom_(perRank.size()) {
  checkFrames();
  if (!runnable) return;
  for (int rank = 0; rank < nranks; ++rank) {
    const Schedule& schedule = schedules_[rank];
    inputBlocks.push_back(schedule.inputSegments * blocksPerSegment);
    outputBlocks.push_back(schedule.outputSegments * blocksPerSegment);
    scratchBlocks.push_back(schedule.scratchSegments * blocksPerSegment);
    scratch_[rank].resize(schedule.scratchSegments);
    for (int index = 0; index < static_cast<int>(schedule.lanes.size()); ++index) addLane(rank, index);
  }
  checkLinks();
  checkMostLinkBlocks();
}

std::string CheckNetwork::locate(int lane, int step) const {
  const NetLane& where = lanes[lane];
  return fmt::format("rank {} lane {} step {} ({})", where.rank, where.index, step,
                     describe(schedules_[where.rank].lanes[where.index].steps[step]));
}

Finding CheckNetwork::findingAt(FindingKind kind, int lane, int step, int block,
                                const std::string& what) const {
  return {kind, lanes[lane].rank, lanes[lane].index, step, block, locate(lane, step) + ": " + what};
}

void CheckNetwork::report(FindingKind kind, int lane, int step, int block, const std::string& what) {
  findings.push_back(findingAt(kind, lane, step, block, what));
}

void CheckNetwork::refuse(FindingKind kind, int lane, int step, int block, const std::string& what) {
  report(kind, lane, step, block, what);
  runnable = false;
}

// What all ranks must say alike.
void CheckNetwork::checkFrames() {
  const auto refuseFrame = [this](int rank, const std::string& what) {
    findings.push_back({FindingKind::malformed, rank, -1, -1, -1, fmt::format("rank {}: {}", rank, what)});
    runnable = false;
  };
  if (nranks == 0 || root < 0 || root >= nranks) {
    refuseFrame(root, fmt::format("there are {} ranks and the root is {}", nranks, root));
    return;
  }
  blocksPerSegment = schedules_[0].blocksPerSegment;
  declaredClosed = schedules_[0].closed;
  afterExchange = schedules_[0].afterExchange;
  if (blocksPerSegment < 1) refuseFrame(0, "a segment has no blocks");
  for (int rank = 0; rank < nranks; ++rank) {
    const Schedule& schedule = schedules_[rank];
    if (schedule.blocksPerSegment != blocksPerSegment || schedule.closed != declaredClosed ||
        schedule.afterExchange != afterExchange) {
      refuseFrame(rank, "blocks per segment, closed or afterExchange are not those of rank 0");
    }
    if (schedule.inputSegments != inputSegmentsOf(collective, nranks) ||
        schedule.outputSegments != outputSegmentsOf(collective, nranks) || schedule.scratchSegments < 0) {
      refuseFrame(rank, fmt::format("a {} does not have {} input and {} output segments", nameOf(collective),
                                    schedule.inputSegments, schedule.outputSegments));
    }
  }
}

void CheckNetwork::addLane(int rank, int index) {
  const Lane& lane = schedules_[rank].lanes[index];
  const int id = static_cast<int>(lanes.size());
  lanes.push_back({rank, index, static_cast<int>(steps.size()), static_cast<int>(lane.steps.size())});
  for (int step = 0; step < static_cast<int>(lane.steps.size()); ++step) addStep(id, step, lane.steps[step]);
}

void CheckNetwork::addStep(int lane, int index, const Step& step) {
  NetStep netStep{static_cast<int>(places.size()), static_cast<int>(step.sources.size()),
                  static_cast<int>(step.destinations.size()), 0, false};
  const int stepId = static_cast<int>(steps.size());
  int dataSources = 0;
  int dataDestinations = 0;
  bool sameForm = true;
  const Place* first = nullptr;
  const auto addPlace = [&](const Place& place, bool source) {
    if (!checkPlace(lane, index, place, source)) return;
    const bool window = place.where == Where::peerInput || place.where == Where::peerOutput;
    const int link = place.where == Where::link ? linkOf(lane, index, place, source) : -1;
    if (link >= 0) (source ? links[link].taken : links[link].sent).push_back({stepId, place});
    places.push_back(
        {place.where, place.form, window ? place.peer : lanes[lane].rank, link, place.block, place.nblocks});
    if (place.nblocks == 0) return;
    ++(source ? dataSources : dataDestinations);
    if (first == nullptr) first = &place;
    sameForm = sameForm && place.form == first->form;
    if (place.nblocks != first->nblocks) {
      refuse(FindingKind::blockSizeMismatch, lane, index, place.block,
             fmt::format("one place has {} blocks, another {}", first->nblocks, place.nblocks));
    } else if (place.block % blocksPerSegment != first->block % blocksPerSegment) {
      refuse(FindingKind::blockSizeMismatch, lane, index, place.block,
             fmt::format("one place begins with sub-block {}, another with {}",
                         first->block % blocksPerSegment, place.block % blocksPerSegment));
    }
  };
  for (const Place& place : step.sources) addPlace(place, true);
  for (const Place& place : step.destinations) addPlace(place, false);
  if (step.sources.empty() && step.destinations.empty()) {
    refuse(FindingKind::malformed, lane, index, -1, "the step does nothing");
  }
  if ((dataSources == 0) != (dataDestinations == 0)) {
    refuse(FindingKind::malformed, lane, index, -1, "data needs a source and a destination");
  }
  netStep.nblocks = first == nullptr ? 0 : first->nblocks;
  netStep.copies = dataSources == 1 && sameForm;
  if (netStep.nblocks > 0) checkStepForms(lane, index, step, netStep.copies);
  if (runnable) checkStepOverlaps(lane, index, netStep);
  steps.push_back(netStep);
}

bool CheckNetwork::checkPlace(int lane, int index, const Place& place, bool source) {
  const int rank = lanes[lane].rank;
  const bool window = place.where == Where::peerInput || place.where == Where::peerOutput;
  const bool signal = place.where == Where::link && place.nblocks == 0;
  if ((place.where == Where::link || window) &&
      (place.peer < 0 || place.peer >= nranks || place.channel < 0)) {
    refuse(FindingKind::outOfRange, lane, index, place.block,
           fmt::format("there is no peer {} on channel {}", place.peer, place.channel));
    return false;
  }
  if (window && place.peer == rank) {
    refuse(FindingKind::malformed, lane, index, place.block, "a window of its own");
    return false;
  }
  int limit = 0;
  switch (place.where) {
    case Where::input:
    case Where::peerInput:
      limit = schedules_[rank].inputSegments;
      break;
    case Where::output:
    case Where::peerOutput:
      limit = schedules_[rank].outputSegments;
      break;
    case Where::scratch:
      limit = schedules_[rank].scratchSegments;
      break;
    case Where::link:
      limit = std::max(schedules_[rank].inputSegments, schedules_[rank].outputSegments);
      break;
  }
  limit *= blocksPerSegment;
  if (!signal && (place.nblocks < 1 || place.block < 0 || place.block + place.nblocks > limit)) {
    refuse(FindingKind::outOfRange, lane, index, place.block,
           fmt::format("blocks [{}, {}) of {}", place.block, place.block + place.nblocks, limit));
    return false;
  }
  const int owner = window ? place.peer : rank;
  const bool onInput = place.where == Where::input || place.where == Where::peerInput;
  const bool onOutput = place.where == Where::output || place.where == Where::peerOutput;
  if (onInput && !source) {
    report(FindingKind::touchesForbiddenBuffer, lane, index, place.block, "writes to an input");
  } else if (onInput && !mayReadInput(owner)) {
    report(FindingKind::touchesForbiddenBuffer, lane, index, place.block,
           fmt::format("reads the input of rank {}, which is not the root {}", owner, root));
  } else if (onOutput && !mayTouchOutput(owner)) {
    report(FindingKind::touchesForbiddenBuffer, lane, index, place.block,
           fmt::format("touches the output of rank {}, which is not the root {}", owner, root));
  }
  if (window) {
    usesWindows = true;
    if (!afterExchange) {
      report(FindingKind::touchesForbiddenBuffer, lane, index, place.block,
             fmt::format("touches a window of rank {} and no exchange has given its address", owner));
    }
  }
  if (place.where == Where::scratch) checkScratch(lane, index, place);
  return true;
}

void CheckNetwork::checkStepForms(int lane, int index, const Step& step, bool copies) {
  if (copies) return;
  if (!reduces(collective)) {
    report(FindingKind::formError, lane, index, -1,
           fmt::format("a {} moves data and computes nothing", nameOf(collective)));
  }
  for (const Place& place : step.sources) {
    if (place.nblocks > 0 && place.form == Form::result) {
      report(FindingKind::formError, lane, index, place.block, "a result is added to");
    }
  }
  for (const Place& place : step.destinations) {
    if (place.nblocks > 0 && place.form == Form::raw) {
      report(FindingKind::formError, lane, index, place.block, "a sum is written as raw");
    }
  }
}

// Within a step the i-th block may be read and written in the same place, as in place calls do; anything else
// depends on the order in which a kernel goes through the elements.
void CheckNetwork::checkStepOverlaps(int lane, int index, const NetStep& step) {
  struct Range {
    int owner;
    int buffer;  // 0 input, 1 output, 2 scratch
    int first;
    int last;
    bool written;
  };
  std::vector<Range> ranges;
  for (int i = 0; i < step.nsources + step.ndestinations; ++i) {
    const NetPlace& place = places[step.firstPlace + i];
    if (place.link >= 0) continue;
    const bool onInput = place.where == Where::input || place.where == Where::peerInput;
    ranges.push_back({place.owner,
                      place.where == Where::scratch ? 2
                      : onInput                     ? 0
                                                    : 1,
                      place.block, place.block + place.nblocks, i >= step.nsources});
  }
  if (ranges.size() < 2) return;
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tie(a.owner, a.buffer, a.first) < std::tie(b.owner, b.buffer, b.first);
  });
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const Range& b = ranges[i];
    for (std::size_t j = i; j > 0; --j) {
      const Range& a = ranges[j - 1];
      if (a.owner != b.owner || a.buffer != b.buffer || b.first >= a.last) break;
      if ((a.written && b.written) || ((a.written || b.written) && a.first != b.first)) {
        report(FindingKind::race, lane, index, b.first, "overlapping blocks within one step");
        break;
      }
    }
  }
}

void CheckNetwork::checkScratch(int lane, int index, const Place& place) {
  for (int segment = place.block / blocksPerSegment;
       segment <= (place.block + place.nblocks - 1) / blocksPerSegment; ++segment) {
    ScratchUse& use = scratch_[lanes[lane].rank][segment];
    if (use.lane < 0) use = {lane, place.form};
    if (use.lane != lane) {
      report(FindingKind::scratchShared, lane, index, place.block,
             fmt::format("segment {} of scratch is also used by lane {}", segment, lanes[use.lane].index));
    }
    if (use.form != place.form) {
      report(FindingKind::formError, lane, index, place.block,
             fmt::format("segment {} of scratch has two forms", segment));
    }
  }
}

int CheckNetwork::linkOf(int lane, int index, const Place& place, bool source) {
  const int rank = lanes[lane].rank;
  const int from = source ? place.peer : rank;
  const int to = source ? rank : place.peer;
  const std::uint64_t key =
      (static_cast<std::uint64_t>(to) << 32) | static_cast<std::uint32_t>(place.channel);
  auto& known = linksFrom_[from];
  const auto found =
      std::find_if(known.rbegin(), known.rend(), [key](const auto& one) { return one.first == key; });
  int id = static_cast<int>(links.size());
  if (found != known.rend()) {
    id = found->second;
  } else {
    known.emplace_back(key, id);
    links.push_back({from, to, place.channel, -1, -1, {}, {}});
  }
  NetLink& link = links[id];
  int& user = source ? link.receiver : link.sender;
  if (user < 0) user = lane;
  if (user != lane) {
    refuse(FindingKind::endUsedByTwoLanes, lane, index, place.block,
           fmt::format("lane {} uses this end of the link too", lanes[user].index));
  }
  const auto& messages = source ? link.taken : link.sent;
  if (!messages.empty() && messages.back().step == static_cast<int>(steps.size())) {
    refuse(FindingKind::malformed, lane, index, place.block, "a link is used twice in one step");
  }
  return id;
}

// The i-th message that is sent is the i-th that is taken, and both ends must say the same of it.
void CheckNetwork::checkLinks() {
  const auto stepIn = [this](int lane, int step) { return step - lanes[lane].firstStep; };
  for (const NetLink& link : links) {
    if (link.sent.size() != link.taken.size()) {
      const bool sends = link.sender >= 0;
      const int lane = sends ? link.sender : link.receiver;
      const Message& last = sends ? link.sent.back() : link.taken.back();
      refuse(FindingKind::unmatchedLink, lane, stepIn(lane, last.step), last.place.block,
             fmt::format("in a round rank {} sends {} messages on channel {} and rank {} takes {}", link.from,
                         link.sent.size(), link.channel, link.to, link.taken.size()));
      continue;
    }
    for (std::size_t i = 0; i < link.sent.size(); ++i) {
      const Place& sent = link.sent[i].place;
      const Place& taken = link.taken[i].place;
      const auto refuseMessage = [&](FindingKind kind, const std::string& what) {
        refuse(kind, link.receiver, stepIn(link.receiver, link.taken[i].step), taken.block,
               fmt::format("{} by {}", what, locate(link.sender, stepIn(link.sender, link.sent[i].step))));
      };
      if (sent.nblocks != taken.nblocks ||
          (sent.nblocks > 0 && sent.block % blocksPerSegment != taken.block % blocksPerSegment)) {
        refuseMessage(FindingKind::blockSizeMismatch, "takes a message of other blocks, sent");
      } else if (sent.nblocks > 0 && sent.block != taken.block) {
        refuseMessage(FindingKind::unmatchedLink, "takes a message with another segment's blocks, sent");
      } else if (sent.nblocks > 0 && sent.form != taken.form) {
        refuseMessage(FindingKind::formError, "takes a message of another form, sent");
      }
    }
  }
}

// Each rank cuts a call by what its own schedule says, so each is compared.
void CheckNetwork::checkMostLinkBlocks() {
  std::array<int, 3> most = {0, 0, 0};
  for (const NetLink& link : links) {
    for (const auto* messages : {&link.sent, &link.taken}) {
      for (const Message& message : *messages) {
        int& mostOfForm = most[static_cast<std::size_t>(message.place.form)];
        mostOfForm = std::max(mostOfForm, message.place.nblocks);
      }
    }
  }
  for (int rank = 0; rank < nranks; ++rank) {
    const std::array<int, 3>& said = schedules_[rank].mostLinkBlocks;
    if (said == most) continue;
    findings.push_back({FindingKind::linkBlocksWrong, rank, -1, -1, -1,
                        fmt::format("rank {} says that messages have up to {} blocks (raw, partial, result), "
                                    "over all ranks they have up to {}",
                                    rank, fmt::join(said, ", "), fmt::join(most, ", "))});
  }
}

}  // namespace tutti
