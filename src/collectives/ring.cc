// The ring (Patarasuk and Yuan 2009): every rank receives from the one before it and sends to the one after
// it, and each block travels once around while it is added up, then once around as a result. Fewest bytes of
// all on every link; its steps grow with the number of ranks.
#include "collectives/builders.h"
#include "collectives/places.h"

namespace tutti {
namespace {

struct Ring {
  int rank;
  int nranks;
  int channel;
  int next;
  int previous;
};

Ring ringOf(const ScheduleRequest& request, int channel) {
  return {request.rank, request.nranks, channel, wrap(request.rank + 1, request.nranks),
          wrap(request.rank - 1, request.nranks)};
}

// Part i of the ring ends at rank i, having started at the rank after it. blockOf(i) is the block of part i;
// `finished` says where the sum of the own part goes.
template <typename BlockOf>
void addReduceScatter(Lane& lane, const Ring& ring, BlockOf blockOf, std::vector<Place> finished) {
  const int n = ring.nranks;
  const int first = blockOf(wrap(ring.rank - 1, n));
  addStep(lane, {place::input(Form::raw, first)}, {place::link(ring.next, ring.channel, Form::raw, first)});
  for (int k = 1; k < n; ++k) {
    const int block = blockOf(wrap(ring.rank - 1 - k, n));
    const Form received = k == 1 ? Form::raw : Form::partial;
    const std::vector<Place> sources = {place::link(ring.previous, ring.channel, received, block),
                                        place::input(Form::raw, block)};
    if (k < n - 1) {
      addStep(lane, sources, {place::link(ring.next, ring.channel, Form::partial, block)});
    } else {
      addStep(lane, sources, std::move(finished));
    }
  }
}

// Takes the parts of the others, nearest first, and passes on all but the last.
template <typename BlockOf>
void addAllGather(Lane& lane, const Ring& ring, BlockOf blockOf, Form form) {
  for (int k = 1; k < ring.nranks; ++k) {
    const int block = blockOf(wrap(ring.rank - k, ring.nranks));
    std::vector<Place> destinations = {place::output(form, block)};
    if (k < ring.nranks - 1) destinations.push_back(place::link(ring.next, ring.channel, form, block));
    addStep(lane, {place::link(ring.previous, ring.channel, form, block)}, std::move(destinations));
  }
}

void addAllReduceLane(Lane& lane, const Ring& ring) {
  const auto blockOf = [&ring](int part) { return ring.channel * ring.nranks + part; };
  const int own = blockOf(ring.rank);
  addReduceScatter(
      lane, ring, blockOf,
      {place::output(Form::result, own), place::link(ring.next, ring.channel, Form::result, own)});
  addAllGather(lane, ring, blockOf, Form::result);
}

void addReduceScatterLane(Lane& lane, const Ring& ring, int channels) {
  addReduceScatter(lane, ring, [&ring, channels](int part) { return part * channels + ring.channel; },
                   {place::output(Form::result, ring.channel)});
}

void addAllGatherLane(Lane& lane, const Ring& ring, int channels) {
  const auto blockOf = [&ring, channels](int part) { return part * channels + ring.channel; };
  const int own = blockOf(ring.rank);
  addStep(lane, {place::input(Form::raw, ring.channel)},
          {place::output(Form::raw, own), place::link(ring.next, ring.channel, Form::raw, own)});
  addAllGather(lane, ring, blockOf, Form::raw);
}

}  // namespace

Schedule buildRing(const ScheduleRequest& request) {
  const bool parts = request.collective == Collective::allReduce;
  const bool sums = reduces(request.collective) && request.nranks > 2;  // two ranks finish what they receive
  Schedule schedule = frameOf(request, parts ? request.nranks * request.channels : request.channels,
                              {.raw = 1, .partial = sums, .result = parts});
  schedule.closed = true;  // every block has been at every rank before the last step
  for (int channel = 0; channel < request.channels; ++channel) {
    const Ring ring = ringOf(request, channel);
    Lane& lane = schedule.lanes.emplace_back();
    if (request.collective == Collective::allReduce) {
      addAllReduceLane(lane, ring);
    } else if (request.collective == Collective::reduceScatter) {
      addReduceScatterLane(lane, ring, request.channels);
    } else {
      addAllGatherLane(lane, ring, request.channels);
    }
  }
  return schedule;
}

}  // namespace tutti
