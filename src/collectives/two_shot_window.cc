// Two shots on registered memory: every rank owns a part of the data and, in one step, reads it in all inputs
// that contribute and writes it to all outputs that want it. Messages carry no data; they only hold everybody
// back until nobody touches its memory any more.
#include "collectives/builders.h"
#include "collectives/places.h"

namespace tutti {
namespace {

Place inputOf(const ScheduleRequest& request, int owner, int block) {
  return owner == request.rank ? place::input(Form::raw, block) : place::peerInput(owner, Form::raw, block);
}

Place outputOf(const ScheduleRequest& request, int owner, Form form, int block) {
  return owner == request.rank ? place::output(form, block) : place::peerOutput(owner, form, block);
}

std::vector<Place> allInputs(const ScheduleRequest& request, int block) {
  std::vector<Place> places;
  for (int rank = 0; rank < request.nranks; ++rank) places.push_back(inputOf(request, rank, block));
  return places;
}

// The own output first, then the others, each rank beginning after itself.
std::vector<Place> allOutputs(const ScheduleRequest& request, Form form, int block) {
  std::vector<Place> places;
  for (int k = 0; k < request.nranks; ++k) {
    places.push_back(outputOf(request, wrap(request.rank + k, request.nranks), form, block));
  }
  return places;
}

Step work(const ScheduleRequest& request, int channel) {
  const int part = channel * request.nranks + request.rank;       // of a vector
  const int segment = request.rank * request.channels + channel;  // of a segment for each rank
  switch (request.collective) {
    case Collective::allReduce:
      return {allInputs(request, part), allOutputs(request, Form::result, part)};
    case Collective::reduceScatter:
      return {allInputs(request, segment), {place::output(Form::result, channel)}};
    case Collective::allGather:
      return {{place::input(Form::raw, channel)}, allOutputs(request, Form::raw, segment)};
    case Collective::broadcast:
      return {{inputOf(request, request.root, part)}, allOutputs(request, Form::raw, part)};
    case Collective::reduce:
      return {allInputs(request, part), {outputOf(request, request.root, Form::result, part)}};
    case Collective::barrier:
      break;
  }
  return {};
}

bool cutsVector(Collective collective) {
  return collective != Collective::reduceScatter && collective != Collective::allGather;
}

}  // namespace

Schedule buildTwoShotWindow(const ScheduleRequest& request) {
  const int parts = cutsVector(request.collective) ? request.nranks : 1;
  Schedule schedule = frameOf(request, parts * request.channels, {});
  schedule.afterExchange = true;
  schedule.closed = true;
  for (int channel = 0; channel < request.channels; ++channel) {
    std::vector<Place> signals;
    for (int k = 1; k < request.nranks; ++k) {
      signals.push_back(place::signal(wrap(request.rank + k, request.nranks), channel));
    }
    Step step = work(request, channel);
    step.destinations.insert(step.destinations.end(), signals.begin(), signals.end());
    Lane& lane = schedule.lanes.emplace_back();
    lane.steps.push_back(std::move(step));
    addStep(lane, std::move(signals), {});
  }
  return schedule;
}

}  // namespace tutti
