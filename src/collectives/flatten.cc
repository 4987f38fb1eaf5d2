// See flatten.h. The only arithmetic here is the split of a step into runs.
#include "collectives/flatten.h"

#include <algorithm>
#include <unordered_map>

namespace tutti {
namespace {

// Sub-blocks of a place that lie in one segment from block `block` on; links have no segments.
int contiguousBlocks(const Place& place, int done, int perSegment) {
  const int left = place.nblocks - done;
  if (place.where == Where::link) return left;
  return std::min(left, perSegment - (place.block + done) % perSegment);
}

class Flattener {
 public:
  Flattener(const Schedule& schedule, FlatSchedule& flat)
      : schedule_(schedule), flat_(flat), lanes_(static_cast<std::size_t>(schedule.blocksPerSegment)) {}

  void addLane(const Lane& lane) {
    FlatLane& flatLane = flat_.lanes.emplace_back();
    ends_ = &flatLane.ends;
    indices_.clear();
    std::vector<int> uses;
    std::uint32_t mostOperands = 1;
    const std::size_t firstStep = flat_.steps.size();
    for (const Step& step : lane.steps) mostOperands = std::max(mostOperands, addStep(step));
    for (std::size_t s = firstStep; s < flat_.steps.size(); ++s) {
      const FlatStep& step = flat_.steps[s];
      uses.resize(flatLane.ends.size());
      for (int i = 0; i < step.nincoming + step.noutgoing; ++i) {
        if (++uses[flat_.stepEnds[step.firstEnd + i].end] > 1) flat_.oneMessagePerLink = false;
      }
      for (std::uint32_t r = 0; r < step.nruns; ++r) claimSubBlocks(flat_.runs[step.firstRun + r]);
    }
    // Offsets now; pointers when all lanes are there and the vectors rest.
    LaneProgram& program = flatLane.program;
    program = {};
    program.nsteps = static_cast<std::uint32_t>(lane.steps.size());
    program.nends = static_cast<std::uint32_t>(flatLane.ends.size());
    program.mostOperands = mostOperands;
    firstSteps_.push_back(firstStep);
  }

  void link() {
    for (std::size_t i = 0; i < flat_.lanes.size(); ++i) {
      LaneProgram& program = flat_.lanes[i].program;
      program.steps = flat_.steps.data() + firstSteps_[i];
      program.runs = flat_.runs.data();
      program.operands = flat_.operands.data();
      program.stepEnds = flat_.stepEnds.data();
    }
  }

 private:
  // For the lane that is being added.
  void claimSubBlocks(const FlatRun& run) {
    for (std::uint32_t i = 0; i < run.nsubBlocks; ++i) {
      std::size_t& lane = lanes_[(run.subBlock + i) % lanes_.size()];
      if (lane == 0) lane = flat_.lanes.size();
      if (lane != flat_.lanes.size()) flat_.lanesApart = false;
    }
  }

  std::uint32_t addStep(const Step& step) {
    FlatStep flat{};
    flat.firstRun = static_cast<std::uint32_t>(flat_.runs.size());
    flat.firstEnd = static_cast<std::uint32_t>(flat_.stepEnds.size());
    for (const Place& place : step.sources) flat.nincoming += addEnd(place, false);
    for (const Place& place : step.destinations) flat.noutgoing += addEnd(place, true);

    const auto carriesData = [](const Place& place) { return place.nblocks > 0; };
    flat.nsources =
        static_cast<std::uint16_t>(std::count_if(step.sources.begin(), step.sources.end(), carriesData));
    flat.ndestinations = static_cast<std::uint16_t>(
        std::count_if(step.destinations.begin(), step.destinations.end(), carriesData));
    if (flat.nsources != 0) addRuns(step, flat);
    flat_.steps.push_back(flat);
    return std::max<std::uint32_t>(flat.nsources, flat.ndestinations);
  }

  void addRuns(const Step& step, FlatStep& flat) {
    const int perSegment = schedule_.blocksPerSegment;
    const auto first = std::find_if(step.sources.begin(), step.sources.end(),
                                    [](const Place& place) { return place.nblocks > 0; });
    for (int done = 0; done < first->nblocks;) {
      int length = first->nblocks - done;
      for (const auto* places : {&step.sources, &step.destinations}) {
        for (const Place& place : *places) {
          if (place.nblocks > 0) length = std::min(length, contiguousBlocks(place, done, perSegment));
        }
      }
      flat_.runs.push_back({static_cast<std::uint32_t>((first->block + done) % perSegment),
                            static_cast<std::uint32_t>(length),
                            static_cast<std::uint32_t>(flat_.operands.size())});
      for (const auto* places : {&step.sources, &step.destinations}) {
        for (const Place& place : *places) {
          if (place.nblocks > 0) addOperand(place, done, places == &step.destinations);
        }
      }
      ++flat.nruns;
      done += length;
    }
    if (flat.nruns > 1) flat_.singleRuns = false;
  }

  void addOperand(const Place& place, int done, bool sends) {
    FlatOperand operand{};
    operand.where = place.where;
    operand.form = place.form;
    if (place.where == Where::link) {
      operand.end = endOf(place, sends);
    } else {
      operand.segment = static_cast<std::uint32_t>((place.block + done) / schedule_.blocksPerSegment);
      operand.peer = static_cast<std::uint32_t>(place.peer < 0 ? 0 : place.peer);
      flat_.usesWindows |= place.where == Where::peerInput || place.where == Where::peerOutput;
    }
    flat_.operands.push_back(operand);
  }

  std::uint16_t addEnd(const Place& place, bool sends) {
    if (place.where != Where::link) return 0;
    flat_.stepEnds.push_back({endOf(place, sends), place.form, place.nblocks > 0});
    return 1;
  }

  std::uint16_t endOf(const Place& place, bool sends) {
    const std::uint64_t key = static_cast<std::uint64_t>(place.peer) << 32 |
                              static_cast<std::uint64_t>(place.channel) << 1 |
                              static_cast<std::uint64_t>(sends);
    const auto [known, isNew] = indices_.try_emplace(key, static_cast<std::uint16_t>(ends_->size()));
    if (isNew) ends_->push_back({place.peer, place.channel, sends});
    return known->second;
  }

  const Schedule& schedule_;
  FlatSchedule& flat_;
  std::vector<LinkUse>* ends_ = nullptr;
  std::unordered_map<std::uint64_t, std::uint16_t> indices_;  // in ends_, by peer, channel and direction
  std::vector<std::size_t> firstSteps_;
  std::vector<std::size_t> lanes_;  // by sub-block: the lane that works on it, counted from 1
};

}  // namespace

std::unique_ptr<FlatSchedule> flatten(const Schedule& schedule) {
  auto flat = std::make_unique<FlatSchedule>();
  flat->blocksPerSegment = schedule.blocksPerSegment;
  flat->scratchSegments = schedule.scratchSegments;
  flat->closed = schedule.closed;
  flat->mostLinkBlocks = schedule.mostLinkBlocks;
  flat->lanes.reserve(schedule.lanes.size());
  Flattener flattener(schedule, *flat);
  for (const Lane& lane : schedule.lanes) flattener.addLane(lane);
  flattener.link();
  return flat;
}

}  // namespace tutti
