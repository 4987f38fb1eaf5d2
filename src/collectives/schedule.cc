// Names, the table of which algorithm serves which collective, the choice of the builder, and schedules as
// text.
#include "collectives/schedule.h"

#include <fmt/format.h>

#include <initializer_list>

#include "collectives/builders.h"

namespace tutti {

const char* nameOf(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::none:
      return "none";
    case Algorithm::ring:
      return "ring";
    case Algorithm::oneShot:
      return "one-shot";
    case Algorithm::twoShot:
      return "two-shot";
    case Algorithm::twoShotWindow:
      return "two-shot-window";
    case Algorithm::binomial:
      return "binomial";
    case Algorithm::chain:
      return "chain";
    case Algorithm::doubleTree:
      return "double-tree";
    case Algorithm::recursiveDoubling:
      return "recursive-doubling";
    case Algorithm::halvingDoubling:
      return "halving-doubling";
  }
  return "?";
}

bool serves(Algorithm algorithm, Collective collective, int nranks) {
  if (nranks < 1) return false;
  const auto among = [collective](std::initializer_list<Collective> served) {
    for (Collective one : served) {
      if (one == collective) return true;
    }
    return false;
  };
  using enum Collective;
  switch (algorithm) {
    case Algorithm::none:
      return nranks == 1;
    case Algorithm::ring:
      return among({allReduce, reduceScatter, allGather});
    case Algorithm::oneShot:
      return true;
    case Algorithm::twoShot:
      return among({allReduce});
    case Algorithm::twoShotWindow:
      return collective != barrier;
    case Algorithm::binomial:
      return among({allReduce, broadcast, reduce});
    case Algorithm::chain:
      return among({broadcast, reduce});
    case Algorithm::doubleTree:
      return among({allReduce, broadcast, reduce});
    case Algorithm::recursiveDoubling:
      return among({allReduce, allGather, barrier});
    case Algorithm::halvingDoubling:
      return among({allReduce, reduceScatter, allGather});
  }
  return false;
}

Schedule buildSchedule(const ScheduleRequest& request) {
  if (request.nranks == 1) return buildNone(request);
  switch (request.algorithm) {
    case Algorithm::none:
      return buildNone(request);
    case Algorithm::ring:
      return buildRing(request);
    case Algorithm::oneShot:
      return buildOneShot(request);
    case Algorithm::twoShot:
      return buildTwoShot(request);
    case Algorithm::twoShotWindow:
      return buildTwoShotWindow(request);
    case Algorithm::binomial:
      return buildBinomial(request);
    case Algorithm::chain:
      return buildChain(request);
    case Algorithm::doubleTree:
      return buildDoubleTree(request);
    case Algorithm::recursiveDoubling:
      return buildRecursiveDoubling(request);
    case Algorithm::halvingDoubling:
      return buildHalvingDoubling(request);
  }
  return {};
}

namespace {

const char* nameOf(Form form) {
  switch (form) {
    case Form::raw:
      return "raw";
    case Form::partial:
      return "partial";
    case Form::result:
      return "result";
  }
  return "?";
}

// "output[4..6) result", "link to 3 #0 [2] partial", "signal from 5 #1".
std::string describe(const Place& place, bool source) {
  std::string where;
  switch (place.where) {
    case Where::input:
      where = "input";
      break;
    case Where::output:
      where = "output";
      break;
    case Where::scratch:
      where = "scratch";
      break;
    case Where::peerInput:
      where = fmt::format("input of {} ", place.peer);
      break;
    case Where::peerOutput:
      where = fmt::format("output of {} ", place.peer);
      break;
    case Where::link:
      where = fmt::format("{} {} {} #{}", place.nblocks == 0 ? "signal" : "link", source ? "from" : "to",
                          place.peer, place.channel);
      if (place.nblocks == 0) return where;
      where += ' ';
      break;
  }
  const std::string blocks = place.nblocks == 1
                                 ? fmt::format("[{}]", place.block)
                                 : fmt::format("[{}..{})", place.block, place.block + place.nblocks);
  return where + blocks + ' ' + nameOf(place.form);
}

std::string describe(const std::vector<Place>& places, bool sources) {
  std::string text;
  for (const Place& place : places) {
    if (!text.empty()) text += sources ? " + " : ", ";
    text += describe(place, sources);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

std::string describe(const Step& step) {
  return describe(step.sources, true) + " -> " + describe(step.destinations, false);
}

std::string describe(const Schedule& schedule) {
  std::string text = fmt::format("{} blocks per segment; segments: {} input, {} output, {} scratch{}{}\n",
                                 schedule.blocksPerSegment, schedule.inputSegments, schedule.outputSegments,
                                 schedule.scratchSegments, schedule.closed ? "; closed" : "",
                                 schedule.afterExchange ? "; after an exchange" : "");
  for (std::size_t lane = 0; lane < schedule.lanes.size(); ++lane) {
    for (std::size_t step = 0; step < schedule.lanes[lane].steps.size(); ++step) {
      text += fmt::format("lane {} step {}: {}\n", lane, step, describe(schedule.lanes[lane].steps[step]));
    }
  }
  return text;
}

}  // namespace tutti
