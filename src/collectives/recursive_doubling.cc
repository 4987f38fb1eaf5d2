// Recursive doubling (Thakur, Rabenseifner and Gropp 2005): in each of log2(n) levels a rank exchanges all it
// has with a partner twice as far away as before. For all-reduce that is the whole vector each time: few
// steps, for small data. For all-gather it is what is needed anyway. The barrier is its cyclic form
// (dissemination), for any number of ranks.
#include "collectives/builders.h"
#include "collectives/fold.h"
#include "collectives/places.h"

namespace tutti {
namespace {

void addAllReduceLane(Lane& lane, const ScheduleRequest& request, int channel) {
  const Fold fold(request.nranks);
  const int v = fold.numberOf(request.rank);
  const Place input = place::input(Form::raw, channel);
  const Place output = place::output(Form::result, channel);
  const auto link = [channel](int peer, Form form) { return place::link(peer, channel, form, channel); };
  if (fold.isSurplus(request.rank)) {
    addStep(lane, {input}, {link(request.rank - 1, Form::raw)});
    addStep(lane, {link(request.rank - 1, Form::result)}, {output});
    return;
  }
  // One segment of scratch for each lane: it holds what the own group has contributed so far.
  const Place group = place::scratch(Form::partial, channel * request.channels + channel);
  const auto partnerAt = [&](int distance) { return fold.rankOf(v ^ distance); };
  Place own = input;
  if (fold.isFolded(v)) {
    addStep(lane, {input, link(request.rank + 1, Form::raw)}, {group, link(partnerAt(1), Form::partial)});
    own = group;
  } else {
    addStep(lane, {input}, {link(partnerAt(1), Form::raw)});
  }
  for (int distance = 1; distance < fold.numbers; distance *= 2) {
    const int partner = partnerAt(distance);
    const bool sentRaw = distance == 1 && !fold.isFolded(v ^ 1);
    const Place other = link(partner, sentRaw ? Form::raw : Form::partial);
    // Both partners add the lower one's operand first, so both have the same bits.
    std::vector<Place> sources = {own, other};
    if (partner < request.rank) std::swap(sources[0], sources[1]);
    std::vector<Place> destinations;
    if (distance * 2 < fold.numbers) {
      destinations = {group, link(partnerAt(distance * 2), Form::partial)};
    } else {
      destinations = {output};
      if (fold.isFolded(v)) destinations.push_back(link(request.rank + 1, Form::result));
    }
    addStep(lane, std::move(sources), std::move(destinations));
    own = group;
  }
}

// Dissemination (Hensgen, Finkel and Manber 1988): in level k everybody signals the rank 2^k after it.
void addBarrierLane(Lane& lane, const ScheduleRequest& request) {
  const int n = request.nranks;
  std::vector<Place> taken;
  for (int distance = 1; distance < n; distance *= 2) {
    addStep(lane, std::move(taken), {place::signal(wrap(request.rank + distance, n), 0)});
    taken = {place::signal(wrap(request.rank - distance, n), 0)};
  }
  addStep(lane, std::move(taken), {});
}

}  // namespace

// Messages hold whole segments of several ranks, which is why all channels' parts travel together on channel
// 0.
Schedule buildDoublingAllGather(const ScheduleRequest& request) {
  const Fold fold(request.nranks);
  const int v = fold.numberOf(request.rank);
  const int rank = request.rank;
  // In the last level each half sends what it has; the lower one has the larger groups.
  Schedule schedule = frameOf(request, 1, {.raw = fold.ranksIn(0, fold.numbers / 2)});
  schedule.closed = true;  // every exchange goes both ways
  Lane& lane = schedule.lanes.emplace_back();
  // The segments of the numbers [first, first + count), at this end of a link or in the output.
  const auto segments = [&fold](Place place, int first, int count) {
    place.block = fold.rankOf(first);
    place.nblocks = fold.ranksIn(first, count);
    return place;
  };
  const Place output = place::output(Form::raw, 0);
  const auto link = [](int peer) { return place::link(peer, 0, Form::raw, 0); };
  const auto groupOf = [](int number, int size) { return number & ~(size - 1); };
  if (fold.isSurplus(rank)) {
    const int neighbour = rank - 1;
    addStep(lane, {place::input(Form::raw, 0)},
            {place::output(Form::raw, rank), place::link(neighbour, 0, Form::raw, rank)});
    addStep(lane, {place::link(neighbour, 0, Form::raw, neighbour)}, {place::output(Form::raw, neighbour)});
    for (int size = 1; size < fold.numbers; size *= 2) {
      const int other = groupOf(v ^ size, size);
      addStep(lane, {segments(link(neighbour), other, size)}, {segments(output, other, size)});
    }
    return schedule;
  }
  const bool folded = fold.isFolded(v);
  addStep(lane, {place::input(Form::raw, 0)},
          {place::output(Form::raw, rank),
           place::link(folded ? rank + 1 : fold.rankOf(v ^ 1), 0, Form::raw, rank)});
  if (folded) {
    addStep(lane, {place::link(rank + 1, 0, Form::raw, rank + 1)}, {place::output(Form::raw, rank + 1)});
  }
  for (int size = 1; size < fold.numbers; size *= 2) {
    const int partner = fold.rankOf(v ^ size);
    const int own = groupOf(v, size);
    const int other = groupOf(v ^ size, size);
    if (folded || size > 1)
      addStep(lane, {segments(output, own, size)}, {segments(link(partner), own, size)});
    std::vector<Place> destinations = {segments(output, other, size)};
    if (folded) destinations.push_back(segments(link(rank + 1), other, size));
    addStep(lane, {segments(link(partner), other, size)}, std::move(destinations));
  }
  return schedule;
}

Schedule buildRecursiveDoubling(const ScheduleRequest& request) {
  if (request.collective == Collective::allGather) return buildDoublingAllGather(request);
  const bool barrier = request.collective == Collective::barrier;
  const Fold fold(request.nranks);
  const LinkBlocks most = {.raw = 1, .partial = request.nranks > 2, .result = fold.surplus > 0};
  Schedule schedule = frameOf(request, barrier ? 1 : request.channels, barrier ? LinkBlocks{} : most);
  schedule.closed = true;  // every exchange goes both ways; a barrier is heard by all
  if (barrier) {
    addBarrierLane(schedule.lanes.emplace_back(), request);
    return schedule;
  }
  const bool keepsPartials =
      !fold.isSurplus(request.rank) && (fold.numbers > 2 || fold.isFolded(fold.numberOf(request.rank)));
  schedule.scratchSegments = keepsPartials ? request.channels : 0;
  for (int channel = 0; channel < request.channels; ++channel) {
    addAllReduceLane(schedule.lanes.emplace_back(), request, channel);
  }
  return schedule;
}

}  // namespace tutti
