// One shot: whoever has data sends it to everyone who needs it, and whoever needs a sum adds what arrives in
// the order of ranks. One message's time, and bytes that grow with the number of ranks: for small messages.
#include "collectives/builders.h"
#include "collectives/places.h"

namespace tutti {
namespace {

// The other ranks, beginning after the own one, so that not all talk to the same rank at the same time.
std::vector<int> peersOf(const ScheduleRequest& request) {
  std::vector<int> peers;
  for (int k = 1; k < request.nranks; ++k) peers.push_back(wrap(request.rank + k, request.nranks));
  return peers;
}

std::vector<Place> linksToAll(const ScheduleRequest& request, int channel, Form form, int block) {
  std::vector<Place> places;
  for (int peer : peersOf(request)) places.push_back(place::link(peer, channel, form, block));
  return places;
}

// One source for each rank, in rank order: the own one is `own`, the others arrive raw.
std::vector<Place> contributions(const ScheduleRequest& request, int channel, int block, Place own) {
  std::vector<Place> places;
  for (int rank = 0; rank < request.nranks; ++rank) {
    places.push_back(rank == request.rank ? own : place::link(rank, channel, Form::raw, block));
  }
  return places;
}

void addAllReduce(Lane& lane, const ScheduleRequest& request, int channel) {
  const Place own = place::input(Form::raw, channel);
  addStep(lane, {own}, linksToAll(request, channel, Form::raw, channel));
  addStep(lane, contributions(request, channel, channel, own), {place::output(Form::result, channel)});
}

void addReduceScatter(Lane& lane, const ScheduleRequest& request, int channel) {
  for (int peer : peersOf(request)) {
    const int block = peer * request.channels + channel;
    addStep(lane, {place::input(Form::raw, block)}, {place::link(peer, channel, Form::raw, block)});
  }
  const int own = request.rank * request.channels + channel;
  addStep(lane, contributions(request, channel, own, place::input(Form::raw, own)),
          {place::output(Form::result, channel)});
}

void addAllGather(Lane& lane, const ScheduleRequest& request, int channel) {
  const int own = request.rank * request.channels + channel;
  std::vector<Place> destinations = linksToAll(request, channel, Form::raw, own);
  destinations.insert(destinations.begin(), place::output(Form::raw, own));
  addStep(lane, {place::input(Form::raw, channel)}, std::move(destinations));
  for (int k = 1; k < request.nranks; ++k) {
    const int peer = wrap(request.rank - k, request.nranks);
    const int block = peer * request.channels + channel;
    addStep(lane, {place::link(peer, channel, Form::raw, block)}, {place::output(Form::raw, block)});
  }
}

void addBroadcast(Lane& lane, const ScheduleRequest& request, int channel) {
  const Place out = place::output(Form::raw, channel);
  if (request.rank != request.root) {
    addStep(lane, {place::link(request.root, channel, Form::raw, channel)}, {out});
    return;
  }
  std::vector<Place> destinations = linksToAll(request, channel, Form::raw, channel);
  destinations.insert(destinations.begin(), out);
  addStep(lane, {place::input(Form::raw, channel)}, std::move(destinations));
}

void addReduce(Lane& lane, const ScheduleRequest& request, int channel) {
  const Place own = place::input(Form::raw, channel);
  if (request.rank != request.root) {
    addStep(lane, {own}, {place::link(request.root, channel, Form::raw, channel)});
    return;
  }
  addStep(lane, contributions(request, channel, channel, own), {place::output(Form::result, channel)});
}

void addBarrier(Lane& lane, const ScheduleRequest& request) {
  std::vector<Place> signals;
  for (int peer : peersOf(request)) signals.push_back(place::signal(peer, 0));
  addStep(lane, {}, signals);
  addStep(lane, signals, {});
}

}  // namespace

Schedule buildOneShot(const ScheduleRequest& request) {
  const bool barrier = request.collective == Collective::barrier;
  Schedule schedule = frameOf(request, barrier ? 1 : request.channels, {.raw = !barrier});
  schedule.closed = !isRooted(request.collective);  // everybody hears from everybody, unless there is a root
  if (barrier) {
    addBarrier(schedule.lanes.emplace_back(), request);
    return schedule;
  }
  for (int channel = 0; channel < request.channels; ++channel) {
    Lane& lane = schedule.lanes.emplace_back();
    switch (request.collective) {
      case Collective::allReduce:
        addAllReduce(lane, request, channel);
        break;
      case Collective::reduceScatter:
        addReduceScatter(lane, request, channel);
        break;
      case Collective::allGather:
        addAllGather(lane, request, channel);
        break;
      case Collective::broadcast:
        addBroadcast(lane, request, channel);
        break;
      case Collective::reduce:
        addReduce(lane, request, channel);
        break;
      case Collective::barrier:
        break;
    }
  }
  return schedule;
}

}  // namespace tutti
