// The checker tested: each test plants one mistake in a right schedule, or writes a wrong one by hand, and
// wants the finding that names it, with the rank and step.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "collectives/checker.h"
#include "collectives/places.h"
#include "schedule_set.h"

namespace tutti {
namespace {

using Schedules = std::vector<Schedule>;

CheckReport check(const Schedules& schedules, Collective collective, CheckOptions options = {},
                  int root = 0) {
  return checkSchedules(schedules, collective, root, options);
}

CheckOptions inPlace() {
  CheckOptions options;
  options.inPlace = true;
  return options;
}

// Some finding of this kind whose text has all of these words.
testing::AssertionResult finds(const CheckReport& report, FindingKind kind,
                               const std::vector<std::string>& words) {
  for (const Finding& finding : report.findings) {
    bool all = finding.kind == kind;
    for (const std::string& word : words) all = all && finding.text.find(word) != std::string::npos;
    if (all) return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "no " << nameOf(kind) << " of this text in:\n" << report.text();
}

// The right schedules, after making sure that they are right.
Schedules rightSchedules(const ScheduleSet& set) {
  Schedules schedules = set.build();
  for (bool alias : {false, true}) {
    CheckOptions options;
    options.inPlace = alias;
    const CheckReport report = checkSchedules(schedules, set.collective, set.root, options);
    EXPECT_TRUE(report.ok()) << report.text();
  }
  return schedules;
}

Step& stepOf(Schedules& schedules, int rank, int step, int lane = 0) {
  return schedules[rank].lanes[lane].steps[step];
}

// Everything from `step` on, into a lane of its own.
void splitLane(Schedule& schedule, int step) {
  Lane rest;
  std::vector<Step>& steps = schedule.lanes[0].steps;
  rest.steps.assign(steps.begin() + step, steps.end());
  steps.resize(step);
  schedule.lanes.push_back(std::move(rest));
}

TEST(CheckerMistakes, MissingContribution) {
  Schedules schedules = rightSchedules({Algorithm::ring, Collective::allReduce, 4});
  stepOf(schedules, 2, 1).sources.pop_back();  // does not add its own
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::missingContribution,
                    {"rank 3", "output block 0", "lacks the contribution of rank 2"}));
}

TEST(CheckerMistakes, OutputNeverWritten) {
  Schedules schedules = rightSchedules({Algorithm::binomial, Collective::broadcast, 4});
  stepOf(schedules, 2, 0).destinations.erase(stepOf(schedules, 2, 0).destinations.begin());
  EXPECT_TRUE(finds(check(schedules, Collective::broadcast), FindingKind::missingContribution, {"rank 2"}));
  EXPECT_TRUE(finds(check(schedules, Collective::broadcast, inPlace()), FindingKind::wrongRoot, {"rank 2"}));
}

TEST(CheckerMistakes, DoubledContribution) {
  Schedules schedules = rightSchedules({Algorithm::ring, Collective::allReduce, 4});
  Step& step = stepOf(schedules, 1, 1);
  step.sources.push_back(step.sources.back());
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::doubledContribution,
                    {"rank 1 lane 0 step 1", "contribution of rank 1 a second time"}));
}

TEST(CheckerMistakes, DeadlockWhenAllReceiveFirst) {
  Schedules schedules = rightSchedules({Algorithm::oneShot, Collective::allGather, 3});
  for (Schedule& schedule : schedules) {
    std::vector<Step>& steps = schedule.lanes[0].steps;
    steps.push_back(steps.front());
    steps.erase(steps.begin());
  }
  CheckOptions options;
  options.slots = 4;
  EXPECT_TRUE(finds(check(schedules, Collective::allGather, options), FindingKind::deadlock,
                    {"rank 0 lane 0 step 0", "waits for a message from rank 2"}));
}

// Three messages each way, all sent before the first is taken.
Schedules sendThreeThenTakeThree() {
  Schedules schedules;
  for (int rank = 0; rank < 2; ++rank) {
    Schedule& schedule = schedules.emplace_back(
        frameOf({Collective::allGather, Algorithm::ring, rank, 2, 0, 1}, 3, {.raw = 1}));
    schedule.closed = true;
    Lane& lane = schedule.lanes.emplace_back();
    const int other = 1 - rank;
    for (int b = 0; b < 3; ++b) {
      addStep(lane, {place::input(Form::raw, b)},
              {place::output(Form::raw, rank * 3 + b), place::link(other, 0, Form::raw, rank * 3 + b)});
    }
    for (int b = 0; b < 3; ++b) {
      addStep(lane, {place::link(other, 0, Form::raw, other * 3 + b)},
              {place::output(Form::raw, other * 3 + b)});
    }
  }
  return schedules;
}

TEST(CheckerMistakes, DeadlockForWantOfSlots) {
  CheckOptions options;
  options.slots = 4;
  EXPECT_TRUE(check(sendThreeThenTakeThree(), Collective::allGather, options).ok());
  options.slots = 2;
  EXPECT_TRUE(finds(check(sendThreeThenTakeThree(), Collective::allGather, options), FindingKind::deadlock,
                    {"rank 0 lane 0 step 2", "waits for a free slot at rank 1"}));
  options.endsOnly = true;
  EXPECT_TRUE(check(sendThreeThenTakeThree(), Collective::allGather, options).has(FindingKind::deadlock));
}

TEST(CheckerMistakes, WrongRoot) {
  Schedules broadcast = rightSchedules({Algorithm::binomial, Collective::broadcast, 4, 1});
  const CheckReport report = check(broadcast, Collective::broadcast);
  EXPECT_TRUE(finds(report, FindingKind::wrongRoot, {"rank 3", "data of rank 1; the root is 0"}));
  EXPECT_TRUE(finds(report, FindingKind::touchesForbiddenBuffer, {"rank 1 lane 0 step 0", "not the root 0"}));

  Schedules reduce = rightSchedules({Algorithm::chain, Collective::reduce, 4, 1});
  EXPECT_TRUE(finds(check(reduce, Collective::reduce), FindingKind::touchesForbiddenBuffer,
                    {"rank 1 lane 0 step 0", "output of rank 1"}));
  EXPECT_TRUE(finds(check(reduce, Collective::reduce), FindingKind::missingContribution, {"rank 0"}));
}

TEST(CheckerMistakes, UnorderedWriteIntoWindow) {
  Schedules schedules = rightSchedules({Algorithm::twoShotWindow, Collective::allReduce, 3});
  Step& step = stepOf(schedules, 0, 0);
  for (auto* places : {&step.sources, &step.destinations}) {
    for (Place& place : *places) {
      if (place.nblocks > 0) place.block = 1;  // rank 1 owns it
    }
  }
  const CheckReport report = check(schedules, Collective::allReduce);
  EXPECT_TRUE(finds(report, FindingKind::race, {"rank 1 lane 0 step 0", "rank 0 lane 0"}));
}

TEST(CheckerMistakes, WindowBeforeExchange) {
  Schedules schedules = rightSchedules({Algorithm::twoShotWindow, Collective::broadcast, 3});
  for (Schedule& schedule : schedules) schedule.afterExchange = false;
  const CheckReport report = check(schedules, Collective::broadcast);
  EXPECT_TRUE(finds(report, FindingKind::touchesForbiddenBuffer, {"rank 1 lane 0 step 0", "no exchange"}));
  EXPECT_TRUE(finds(report, FindingKind::race, {"rank 1 lane 0 step 0", "begun the call"}));
}

TEST(CheckerMistakes, SignalMissingAtTheEndOfAWindowCall) {
  for (Collective collective : {Collective::allReduce, Collective::reduce, Collective::allGather}) {
    Schedules schedules = rightSchedules({Algorithm::twoShotWindow, collective, 2});
    stepOf(schedules, 1, 0).destinations.pop_back();  // rank 1 does not say that it is done
    schedules[0].lanes[0].steps.pop_back();           // and rank 0 does not wait for it
    EXPECT_TRUE(finds(check(schedules, collective), FindingKind::race,
                      {"rank 1 lane 0 step 0", "rank 0 may end the call"}));
  }
}

// Everybody adds everything for itself: right out of place, but in place the first to finish overwrites its
// input.
TEST(CheckerMistakes, InPlaceHazardBetweenRanks) {
  Schedules schedules;
  for (int rank = 0; rank < 2; ++rank) {
    Schedule& schedule = schedules.emplace_back(
        frameOf({Collective::allReduce, Algorithm::twoShotWindow, rank, 2, 0, 1}, 1, {}));
    schedule.closed = true;
    schedule.afterExchange = true;
    Place inputs[] = {place::peerInput(1 - rank, Form::raw, 0), place::peerInput(1 - rank, Form::raw, 0)};
    inputs[rank] = place::input(Form::raw, 0);
    Lane& lane = schedule.lanes.emplace_back();
    addStep(lane, {inputs[0], inputs[1]}, {place::output(Form::result, 0), place::signal(1 - rank, 0)});
    addStep(lane, {place::signal(1 - rank, 0)}, {});
  }
  EXPECT_TRUE(check(schedules, Collective::allReduce).ok());
  const CheckReport report = check(schedules, Collective::allReduce, inPlace());
  EXPECT_TRUE(finds(report, FindingKind::race, {"lane 0 step 0", "in-place"}));
}

TEST(CheckerMistakes, InPlaceHazardBetweenLanes) {
  Schedules schedules = rightSchedules({Algorithm::oneShot, Collective::allReduce, 2});
  splitLane(schedules[0], 1);  // now nothing says that the input is sent before the output is written
  EXPECT_TRUE(check(schedules, Collective::allReduce).ok());
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce, inPlace()), FindingKind::race,
                    {"rank 0 lane", "step 0"}));
}

TEST(CheckerMistakes, InPlaceHazardWithinALane) {
  Schedules schedules = rightSchedules({Algorithm::oneShot, Collective::reduceScatter, 3});
  // Rank 1 finishes its own segment before it has read all of its input.
  Lane& lane = schedules[1].lanes[0];
  addStep(lane, {place::input(Form::raw, 1)}, {place::link(1, 0, Form::raw, 1)});
  addStep(lane, {place::link(1, 0, Form::raw, 1)}, {place::output(Form::raw, 0)});
  EXPECT_TRUE(finds(check(schedules, Collective::reduceScatter, inPlace()), FindingKind::wrongData,
                    {"rank 1 lane 0 step 3", "overwritten"}));
}

TEST(CheckerMistakes, ClosedButDoesNotSaySo) {
  Schedules schedules = rightSchedules({Algorithm::ring, Collective::allGather, 5});
  for (Schedule& schedule : schedules) schedule.closed = false;
  EXPECT_TRUE(
      finds(check(schedules, Collective::allGather), FindingKind::closednessWrong, {"does not say so"}));
}

TEST(CheckerMistakes, SaysClosedButIsNot) {
  Schedules schedules = rightSchedules({Algorithm::chain, Collective::broadcast, 3});
  for (Schedule& schedule : schedules) schedule.closed = true;
  EXPECT_TRUE(finds(check(schedules, Collective::broadcast), FindingKind::closednessWrong,
                    {"rank 1 may end the call before rank 2", "rank 1 lane 0 step 0"}));
}

TEST(CheckerMistakes, LinkEndInTwoLanes) {
  Schedules schedules = rightSchedules({Algorithm::ring, Collective::allReduce, 3});
  splitLane(schedules[1], 3);
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::endUsedByTwoLanes,
                    {"rank 1 lane 1 step 0", "lane 0"}));
}

TEST(CheckerMistakes, UnmatchedLink) {
  Schedules schedules = rightSchedules({Algorithm::oneShot, Collective::allGather, 3});
  schedules[2].lanes[0].steps.pop_back();  // never takes what rank 0 sends
  EXPECT_TRUE(finds(check(schedules, Collective::allGather), FindingKind::unmatchedLink,
                    {"rank 0 lane 0 step 0", "rank 2 takes 0"}));

  schedules = rightSchedules({Algorithm::ring, Collective::allGather, 3});
  std::swap(stepOf(schedules, 1, 1), stepOf(schedules, 1, 2));
  EXPECT_FALSE(check(schedules, Collective::allGather).ok());
}

TEST(CheckerMistakes, WrongBlockSize) {
  Schedules schedules = rightSchedules({Algorithm::halvingDoubling, Collective::allReduce, 4});
  stepOf(schedules, 3, 1).sources[1].nblocks = 1;
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::blockSizeMismatch,
                    {"rank 3 lane 0 step 1"}));

  schedules = rightSchedules({Algorithm::ring, Collective::allReduce, 4});
  stepOf(schedules, 3, 4).destinations[0].block = 0;  // another sub-block: another number of elements
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::blockSizeMismatch,
                    {"rank 3 lane 0 step 4"}));

  schedules = rightSchedules({Algorithm::twoShot, Collective::allReduce, 4});
  for (Place* place : {&stepOf(schedules, 2, 6).sources[0], &stepOf(schedules, 2, 6).destinations[0]}) {
    place->block = 0;  // both places agree, but the sender says block 3
  }
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::blockSizeMismatch,
                    {"rank 2 lane 0 step 6"}));
}

TEST(CheckerMistakes, PartialReadAsRaw) {
  Schedules schedules = rightSchedules({Algorithm::recursiveDoubling, Collective::allReduce, 4});
  Step& step = stepOf(schedules, 0, 2);
  ASSERT_EQ(step.sources[0].where, Where::scratch);
  step.sources[0].form = Form::raw;
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::formError,
                    {"rank 0 lane 0 step 2", "reads as raw what is partial"}));
}

TEST(CheckerMistakes, MessageTakenInAnotherForm) {
  Schedules schedules = rightSchedules({Algorithm::ring, Collective::reduceScatter, 4});
  stepOf(schedules, 1, 2).sources[0].form = Form::raw;
  EXPECT_TRUE(
      finds(check(schedules, Collective::reduceScatter), FindingKind::formError, {"rank 1 lane 0 step 2"}));
}

TEST(CheckerMistakes, ResultAddedTo) {
  Schedules schedules = rightSchedules({Algorithm::oneShot, Collective::reduce, 3});
  stepOf(schedules, 0, 0).sources[0].form = Form::result;
  EXPECT_TRUE(finds(check(schedules, Collective::reduce), FindingKind::formError, {"rank 0 lane 0 step 0"}));
}

TEST(CheckerMistakes, ScratchShared) {
  Schedules schedules = rightSchedules({Algorithm::recursiveDoubling, Collective::allReduce, 4, 0, 2});
  for (Step& step : schedules[3].lanes[1].steps) {
    for (auto* places : {&step.sources, &step.destinations}) {
      for (Place& place : *places) {
        if (place.where == Where::scratch) place.block = 1;  // the same sub-block of lane 0's segment
      }
    }
  }
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::scratchShared,
                    {"rank 3 lane 1 step 1", "lane 0"}));
}

TEST(CheckerMistakes, ScratchOfTheRoundBefore) {
  Schedules schedules = rightSchedules({Algorithm::recursiveDoubling, Collective::allReduce, 4});
  Step& step = stepOf(schedules, 0, 1);
  ASSERT_EQ(step.sources[0].where, Where::input);
  step.sources[0] = place::scratch(Form::partial, 0);
  CheckOptions options;
  options.mostFindings = 100;
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce, options), FindingKind::wrongData,
                    {"rank 0 lane 0 step 1", "nobody has written"}));

  // Written too late: the first round reads nothing, the second what the first has left.
  schedules = rightSchedules({Algorithm::recursiveDoubling, Collective::allReduce, 4});
  stepOf(schedules, 0, 0).destinations.push_back(place::scratch(Form::raw, 0));
  EXPECT_FALSE(check(schedules, Collective::allReduce, options).ok());
  for (Schedule& schedule : schedules)
    schedule = frameOf({Collective::broadcast, Algorithm::chain, 0, 1, 0, 1}, 1, {});
  schedules.resize(1);
  schedules[0].closed = true;
  schedules[0].scratchSegments = 1;
  Lane& lane = schedules[0].lanes.emplace_back();
  addStep(lane, {place::scratch(Form::raw, 0)}, {place::output(Form::raw, 0)});
  addStep(lane, {place::input(Form::raw, 0)}, {place::scratch(Form::raw, 0)});
  options.rounds = 2;
  EXPECT_TRUE(finds(check(schedules, Collective::broadcast, options), FindingKind::wrongData,
                    {"rank 0 lane 0 step 0", "reads in round 1 what round 0 left"}));
}

TEST(CheckerMistakes, OutOfRange) {
  Schedules schedules = rightSchedules({Algorithm::ring, Collective::allGather, 3});
  stepOf(schedules, 2, 2).destinations[0].block = 3;
  EXPECT_TRUE(
      finds(check(schedules, Collective::allGather), FindingKind::outOfRange, {"rank 2 lane 0 step 2"}));

  schedules = rightSchedules({Algorithm::ring, Collective::allGather, 3});
  stepOf(schedules, 1, 0).destinations[1].peer = 3;
  EXPECT_TRUE(finds(check(schedules, Collective::allGather), FindingKind::outOfRange,
                    {"rank 1 lane 0 step 0", "no peer 3"}));
}

TEST(CheckerMistakes, ForbiddenBuffers) {
  Schedules schedules = rightSchedules({Algorithm::ring, Collective::allReduce, 3});
  stepOf(schedules, 1, 3).destinations[0].where = Where::input;
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::touchesForbiddenBuffer,
                    {"rank 1 lane 0 step 3", "writes to an input"}));

  schedules = rightSchedules({Algorithm::binomial, Collective::reduce, 4});
  stepOf(schedules, 2, 0).destinations.push_back(place::output(Form::partial, 0));
  EXPECT_TRUE(finds(check(schedules, Collective::reduce), FindingKind::touchesForbiddenBuffer,
                    {"rank 2 lane 0 step 0", "output of rank 2"}));
}

TEST(CheckerMistakes, DifferentBits) {
  Schedules schedules = rightSchedules({Algorithm::recursiveDoubling, Collective::allReduce, 4});
  std::vector<Place>& sources = stepOf(schedules, 1, 1).sources;
  std::swap(sources[0], sources[1]);
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::differentBits, {"rank"}));
}

TEST(CheckerMistakes, WrongData) {
  Schedules schedules = rightSchedules({Algorithm::oneShot, Collective::allGather, 3});
  std::swap(stepOf(schedules, 0, 1).destinations[0].block, stepOf(schedules, 0, 2).destinations[0].block);
  EXPECT_TRUE(
      finds(check(schedules, Collective::allGather), FindingKind::wrongData, {"rank 0", "output block 1"}));

  schedules = rightSchedules({Algorithm::ring, Collective::reduceScatter, 3});
  stepOf(schedules, 2, 1).sources[1].block = 2;  // another segment of its input
  EXPECT_TRUE(
      finds(check(schedules, Collective::reduceScatter), FindingKind::wrongData, {"rank 2 lane 0 step 1"}));
}

TEST(CheckerMistakes, BarrierLeftTooEarly) {
  Schedules schedules = rightSchedules({Algorithm::recursiveDoubling, Collective::barrier, 4});
  for (Schedule& schedule : schedules) {  // without the last level
    schedule.lanes[0].steps.pop_back();
    schedule.lanes[0].steps.back().destinations.clear();
  }
  EXPECT_TRUE(
      finds(check(schedules, Collective::barrier), FindingKind::missingContribution, {"rank 0", "rank 1"}));
}

TEST(CheckerMistakes, OverlapWithinAStep) {
  Schedules schedules = rightSchedules({Algorithm::recursiveDoubling, Collective::allGather, 4});
  Step& step = stepOf(schedules, 3, 3);
  step.destinations.push_back(place::output(Form::raw, 1, 2));
  EXPECT_TRUE(finds(check(schedules, Collective::allGather), FindingKind::race,
                    {"rank 3 lane 0 step 3", "within one step"}));
}

TEST(CheckerMistakes, Malformed) {
  Schedules schedules = rightSchedules({Algorithm::oneShot, Collective::barrier, 3});
  schedules[1].lanes[0].steps.push_back({});
  EXPECT_TRUE(finds(check(schedules, Collective::barrier), FindingKind::malformed, {"rank 1 lane 0 step 2"}));

  schedules = rightSchedules({Algorithm::oneShot, Collective::allReduce, 3});
  Step& step = stepOf(schedules, 1, 0);
  step.destinations.push_back(step.destinations[0]);
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::malformed,
                    {"rank 1 lane 0 step 0", "twice"}));

  schedules = rightSchedules({Algorithm::oneShot, Collective::allReduce, 3});
  schedules[2].blocksPerSegment = 2;
  EXPECT_TRUE(finds(check(schedules, Collective::allReduce), FindingKind::malformed, {"rank 2"}));
}

// What the plan cuts by: too small and a message would not fit, too large and rounds would be smaller than
// they need to be, different and ranks would cut differently.
TEST(CheckerMistakes, LinkBlocksWrong) {
  const ScheduleSet set{Algorithm::halvingDoubling, Collective::allReduce, 5};
  const Schedules right = rightSchedules(set);
  ASSERT_EQ(right[0].mostLinkBlocks, (std::array<int, 3>{4, 2, 2}));
  for (std::size_t form = 0; form < 3; ++form) {
    for (int change : {-1, 1}) {
      Schedules wrong = right;
      for (Schedule& schedule : wrong) schedule.mostLinkBlocks[form] += change;
      CheckReport report = check(wrong, set.collective);
      for (const char* rank : {"rank 0 says", "rank 4 says"})
        EXPECT_TRUE(finds(report, FindingKind::linkBlocksWrong, {rank, "up to 4, 2, 2"}));
      EXPECT_EQ(report.findings.size(), 5u) << report.text();

      wrong = right;
      wrong[3].mostLinkBlocks[form] += change;
      report = check(wrong, set.collective);
      EXPECT_TRUE(finds(report, FindingKind::linkBlocksWrong, {"rank 3 says"}));
      EXPECT_EQ(report.findings.size(), 1u) << report.text();
    }
  }
}

// A self link orders two lanes of one rank where nothing else does.
TEST(Checker, SelfLinkOrdersLanes) {
  Schedules schedules = rightSchedules({Algorithm::oneShot, Collective::allReduce, 2});
  for (int rank = 0; rank < 2; ++rank) {
    splitLane(schedules[rank], 1);
    schedules[rank].lanes[0].steps[0].destinations.push_back(place::signal(rank, 1));
    schedules[rank].lanes[1].steps[0].sources.push_back(place::signal(rank, 1));
  }
  CheckOptions options = inPlace();
  for (int rounds : {1, 2, 3, 7}) {
    options.rounds = rounds;
    const CheckReport report = check(schedules, Collective::allReduce, options);
    EXPECT_TRUE(report.ok()) << report.text();
  }
}

// Something is found in what the schedules do, and not only in what they say of their largest messages.
bool isWrong(const Schedules& schedules, Collective collective) {
  const CheckReport report = check(schedules, collective);
  return std::any_of(report.findings.begin(), report.findings.end(),
                     [](const Finding& finding) { return finding.kind != FindingKind::linkBlocksWrong; });
}

// Every single step of every schedule matters: without it, the checker always finds something.
TEST(CheckerMistakes, AnyStepLeftOut) {
  int mutants = 0;
  for (const Served& pair : allServed()) {
    if (pair.algorithm == Algorithm::none) continue;
    for (int nranks : {2, 3, 5, 8}) {
      const Schedules right = ScheduleSet{pair.algorithm, pair.collective, nranks}.build();
      for (int rank = 0; rank < nranks; ++rank) {
        for (std::size_t lane = 0; lane < right[rank].lanes.size(); ++lane) {
          for (std::size_t step = 0; step < right[rank].lanes[lane].steps.size(); ++step) {
            Schedules wrong = right;
            std::vector<Step>& steps = wrong[rank].lanes[lane].steps;
            steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(step));
            EXPECT_TRUE(isWrong(wrong, pair.collective))
                << testNameOf(pair) << " " << nranks << " ranks, rank " << rank << " lane " << lane
                << " without step " << step;
            ++mutants;
          }
        }
      }
    }
  }
  EXPECT_GT(mutants, 500);
}

// So does every place with data, and every form: change one and something is found.
TEST(CheckerMistakes, AnyPlaceChanged) {
  int mutants = 0;
  for (const Served& pair : allServed()) {
    if (pair.algorithm == Algorithm::none) continue;
    const Schedules right = ScheduleSet{pair.algorithm, pair.collective, 5}.build();
    for (int rank = 0; rank < 5; ++rank) {
      for (std::size_t lane = 0; lane < right[rank].lanes.size(); ++lane) {
        for (std::size_t step = 0; step < right[rank].lanes[lane].steps.size(); ++step) {
          const Step& original = right[rank].lanes[lane].steps[step];
          const std::size_t nplaces = original.sources.size() + original.destinations.size();
          for (std::size_t i = 0; i < nplaces; ++i) {
            for (int change = 0; change < 3; ++change) {
              Schedules wrong = right;
              Step& changed = wrong[rank].lanes[lane].steps[step];
              const bool source = i < changed.sources.size();
              std::vector<Place>& places = source ? changed.sources : changed.destinations;
              const std::size_t index = source ? i : i - changed.sources.size();
              if (change == 0) {
                places.erase(places.begin() + static_cast<std::ptrdiff_t>(index));
              } else if (places[index].nblocks == 0) {
                continue;
              } else if (change == 1) {
                ++places[index].block;
              } else {
                places[index].form = places[index].form == Form::raw ? Form::partial : Form::raw;
              }
              EXPECT_TRUE(isWrong(wrong, pair.collective))
                  << testNameOf(pair) << " rank " << rank << " lane " << lane << " step " << step << " place "
                  << i << " change " << change << ": " << describe(original) << " became "
                  << describe(changed);
              ++mutants;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(mutants, 2000);
}

}  // namespace
}  // namespace tutti
