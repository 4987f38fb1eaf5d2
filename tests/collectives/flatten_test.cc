// Flattening loses nothing: the runs of a flat step, put together again, are the blocks of its places in
// their order, and its ends are its links.
#include "collectives/flatten.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "collectives/places.h"
#include "schedule_set.h"

namespace tutti {
namespace {

// Blocks of a place as the flat step has them, as segment * perSegment + sub-block; links have sub-blocks
// only.
std::vector<int> blocksOf(const FlatSchedule& flat, const FlatStep& step, std::size_t operand) {
  std::vector<int> blocks;
  for (std::uint32_t r = 0; r < step.nruns; ++r) {
    const FlatRun& run = flat.runs[step.firstRun + r];
    const FlatOperand& one = flat.operands[run.firstOperand + operand];
    for (std::uint32_t i = 0; i < run.nsubBlocks; ++i)
      blocks.push_back(static_cast<int>(one.segment) * flat.blocksPerSegment +
                       static_cast<int>(run.subBlock + i));
  }
  return blocks;
}

std::vector<Place> carrying(const std::vector<Place>& places) {
  std::vector<Place> result;
  for (const Place& place : places) {
    if (place.nblocks > 0) result.push_back(place);
  }
  return result;
}

void expectSame(const FlatSchedule& flat, const FlatLane& lane, const FlatStep& step, const Place& place,
                std::size_t index, bool sends) {
  std::vector<int> wanted;
  for (int i = 0; i < place.nblocks; ++i)
    wanted.push_back(place.where == Where::link ? (place.block + i) % flat.blocksPerSegment
                                                : place.block + i);
  EXPECT_EQ(blocksOf(flat, step, index), wanted);
  for (std::uint32_t r = 0; r < step.nruns; ++r) {
    const FlatOperand& operand = flat.operands[flat.runs[step.firstRun + r].firstOperand + index];
    EXPECT_EQ(operand.where, place.where);
    EXPECT_EQ(operand.form, place.form);
    if (place.where == Where::link) {
      EXPECT_EQ(lane.ends[operand.end], (LinkUse{place.peer, place.channel, sends}));
    } else if (place.where == Where::peerInput || place.where == Where::peerOutput) {
      EXPECT_EQ(static_cast<int>(operand.peer), place.peer);
    }
  }
}

void expectFaithful(const Schedule& schedule) {
  const auto flat = flatten(schedule);
  ASSERT_EQ(flat->lanes.size(), schedule.lanes.size());
  EXPECT_EQ(flat->blocksPerSegment, schedule.blocksPerSegment);
  EXPECT_EQ(flat->scratchSegments, schedule.scratchSegments);
  EXPECT_EQ(flat->closed, schedule.closed);
  EXPECT_EQ(flat->mostLinkBlocks, schedule.mostLinkBlocks);
  bool single = true, windows = false;
  for (std::size_t l = 0; l < schedule.lanes.size(); ++l) {
    const Lane& lane = schedule.lanes[l];
    const FlatLane& flatLane = flat->lanes[l];
    ASSERT_EQ(flatLane.program.nsteps, lane.steps.size());
    EXPECT_EQ(flatLane.program.nends, flatLane.ends.size());
    for (std::size_t s = 0; s < lane.steps.size(); ++s) {
      const Step& step = lane.steps[s];
      const FlatStep& flatStep = flatLane.program.steps[s];
      const auto sources = carrying(step.sources), destinations = carrying(step.destinations);
      ASSERT_EQ(flatStep.nsources, sources.size());
      ASSERT_EQ(flatStep.ndestinations, destinations.size());
      EXPECT_LE(std::max(flatStep.nsources, flatStep.ndestinations), flatLane.program.mostOperands);
      for (std::size_t i = 0; i < sources.size(); ++i)
        expectSame(*flat, flatLane, flatStep, sources[i], i, false);
      for (std::size_t i = 0; i < destinations.size(); ++i)
        expectSame(*flat, flatLane, flatStep, destinations[i], sources.size() + i, true);
      // Ends: every link place in order, incoming ones first.
      std::size_t end = flatStep.firstEnd;
      for (const bool sends : {false, true}) {
        for (const Place& place : sends ? step.destinations : step.sources) {
          windows |= place.where == Where::peerInput || place.where == Where::peerOutput;
          if (place.where != Where::link) continue;
          const FlatEnd& flatEnd = flat->stepEnds[end++];
          EXPECT_EQ(flatLane.ends[flatEnd.end], (LinkUse{place.peer, place.channel, sends}));
          EXPECT_EQ(flatEnd.carriesData, place.nblocks > 0);
        }
      }
      EXPECT_EQ(end - flatStep.firstEnd, std::size_t{flatStep.nincoming} + flatStep.noutgoing);
      single &= flatStep.nruns <= 1;
    }
  }
  EXPECT_EQ(flat->singleRuns, single);
  EXPECT_EQ(flat->usesWindows, windows);
}

TEST(Flatten, EverySchedule) {
  for (const Served& pair : allServed()) {
    for (const int nranks : someRankCounts(pair.algorithm)) {
      for (const int root : {0, nranks - 1}) {
        const ScheduleSet set{pair.algorithm, pair.collective, nranks, root};
        for (int rank = 0; rank < nranks; ++rank) {
          SCOPED_TRACE(testNameOf(pair) + ", rank " + std::to_string(rank) + " of " + std::to_string(nranks));
          expectFaithful(buildSchedule(set.request(rank)));
          if (testing::Test::HasFailure()) return;
        }
        if (!isRooted(pair.collective)) break;
      }
    }
  }
}

TEST(Flatten, SplitsWhereAnySideLeavesItsSegment) {
  Schedule schedule;
  schedule.blocksPerSegment = 3;
  schedule.inputSegments = schedule.outputSegments = 4;
  Lane& lane = schedule.lanes.emplace_back();
  addStep(lane, {place::input(Form::raw, 2, 7)}, {place::link(1, 0, Form::raw, 2, 7)});
  const auto flat = flatten(schedule);
  ASSERT_EQ(flat->lanes[0].program.steps[0].nruns, 3);
  EXPECT_EQ(flat->runs[0].nsubBlocks, 1u);  // block 2
  EXPECT_EQ(flat->runs[1].nsubBlocks, 3u);  // 3 to 5
  EXPECT_EQ(flat->runs[2].nsubBlocks, 3u);  // 6 to 8
  EXPECT_FALSE(flat->singleRuns);
  expectFaithful(schedule);
}

TEST(Flatten, NoticesASecondMessageOnALink) {
  Schedule schedule;
  Lane& lane = schedule.lanes.emplace_back();
  addStep(lane, {}, {place::signal(1, 0)});
  EXPECT_TRUE(flatten(schedule)->oneMessagePerLink);
  addStep(lane, {}, {place::signal(1, 1)});
  EXPECT_TRUE(flatten(schedule)->oneMessagePerLink);
  addStep(lane, {place::signal(1, 0)}, {});
  EXPECT_TRUE(flatten(schedule)->oneMessagePerLink);  // the other direction
  addStep(lane, {}, {place::signal(1, 0)});
  EXPECT_FALSE(flatten(schedule)->oneMessagePerLink);
}

// In place, one lane of a tree writes the sum where the other has read a part of it.
TEST(Flatten, WordsWantLanesThatShareNothing) {
  const auto flattened = [](Algorithm algorithm) {
    return flatten(buildSchedule({Collective::allReduce, algorithm, 1, 4, 0, 2}));
  };
  const auto apart = flattened(Algorithm::oneShot);
  EXPECT_TRUE(apart->lanesApart);
  EXPECT_TRUE(apart->mayTravelAs(MailboxFormat::words));
  const auto together = flattened(Algorithm::doubleTree);
  EXPECT_FALSE(together->lanesApart);
  EXPECT_TRUE(together->mayTravelAs(MailboxFormat::lines));
  EXPECT_FALSE(together->mayTravelAs(MailboxFormat::words));
  const auto cut = flattened(Algorithm::halvingDoubling);
  EXPECT_TRUE(cut->mayTravelAs(MailboxFormat::slots));
  EXPECT_FALSE(cut->mayTravelAs(MailboxFormat::lines));
}

}  // namespace
}  // namespace tutti
