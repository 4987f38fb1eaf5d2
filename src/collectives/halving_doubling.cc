// Recursive halving and doubling (Rabenseifner; in Thakur, Rabenseifner and Gropp 2005): in each level a rank
// gives one half of what it still holds to a partner and adds the partner's other half to its own, until one
// block is left; then the results double the same way back. The bytes of a ring in a logarithmic number of
// steps.
#include "collectives/builders.h"
#include "collectives/fold.h"
#include "collectives/places.h"

namespace tutti {
namespace {

struct Range {
  int first;
  int count;
};

struct Level {
  int partner;  // a number
  Range keep;
  Range give;
};

// Nearest partner first, so that contributions are added in rank order and the largest messages go the
// shortest way.
std::vector<Level> levelsOf(int v, int numbers) {
  std::vector<Level> levels;
  Range own = {0, numbers};
  for (int distance = 1; distance < numbers; distance *= 2) {
    const Range lower = {own.first, own.count / 2};
    const Range upper = {own.first + own.count / 2, own.count / 2};
    const bool high = (v & distance) != 0;
    levels.push_back({v ^ distance, high ? upper : lower, high ? lower : upper});
    own = levels.back().keep;
  }
  return levels;
}

void addAllReduceLane(Lane& lane, const ScheduleRequest& request, int channel) {
  const Fold fold(request.nranks);
  const int rank = request.rank;
  const int v = fold.numberOf(rank);
  const std::vector<Level> levels = levelsOf(v, fold.numbers);
  const int base = channel * fold.numbers;
  const int segment = channel * request.channels * fold.numbers;  // of scratch: one for each lane
  const auto link = [&](int peer, Form form, Range range) {
    return place::link(peer, channel, form, base + range.first, range.count);
  };
  const auto input = [&](Range range) { return place::input(Form::raw, base + range.first, range.count); };
  const auto output = [&](Range range) {
    return place::output(Form::result, base + range.first, range.count);
  };
  const auto partial = [&](Range range) {
    return place::scratch(Form::partial, segment + base + range.first, range.count);
  };
  const Range all = {0, fold.numbers};
  if (fold.isSurplus(rank)) {
    addStep(lane, {input(all)}, {link(rank - 1, Form::raw, all)});
    addStep(lane, {link(rank - 1, Form::result, levels.back().keep)}, {output(levels.back().keep)});
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
      addStep(lane, {link(rank - 1, Form::result, level->give)}, {output(level->give)});
    }
    return;
  }
  const bool folded = fold.isFolded(v);
  if (folded) addStep(lane, {input(all), link(rank + 1, Form::raw, all)}, {partial(all)});
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const Level& level = levels[k];
    const int partner = fold.rankOf(level.partner);
    const bool summed = folded || k > 0;
    const bool othersSummed = fold.isFolded(level.partner) || k > 0;
    addStep(lane, {summed ? partial(level.give) : input(level.give)},
            {link(partner, summed ? Form::partial : Form::raw, level.give)});
    std::vector<Place> sources = {summed ? partial(level.keep) : input(level.keep),
                                  link(partner, othersSummed ? Form::partial : Form::raw, level.keep)};
    if (partner < rank) std::swap(sources[0], sources[1]);
    if (k + 1 < levels.size()) {
      addStep(lane, std::move(sources), {partial(level.keep)});
      continue;
    }
    std::vector<Place> destinations = {output(level.keep), link(partner, Form::result, level.keep)};
    if (folded) destinations.push_back(link(rank + 1, Form::result, level.keep));
    addStep(lane, std::move(sources), std::move(destinations));
  }
  // Doubling: what was given away comes back as a result; what was kept is complete by then.
  for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
    const int partner = fold.rankOf(level->partner);
    if (level != levels.rbegin()) {
      addStep(lane, {output(level->keep)}, {link(partner, Form::result, level->keep)});
    }
    std::vector<Place> destinations = {output(level->give)};
    if (folded) destinations.push_back(link(rank + 1, Form::result, level->give));
    addStep(lane, {link(partner, Form::result, level->give)}, std::move(destinations));
  }
}

bool keepsPartials(const Fold& fold, int rank) {
  return !fold.isSurplus(rank) && (fold.numbers > 2 || fold.isFolded(fold.numberOf(rank)));
}

Schedule buildAllReduce(const ScheduleRequest& request) {
  const Fold fold(request.nranks);
  // A surplus rank gives everything, and its neighbour's half is a sum already in the first level.
  const int half = fold.numbers / 2;
  const LinkBlocks most = fold.surplus > 0 ? LinkBlocks{.raw = fold.numbers, .partial = half, .result = half}
                                           : LinkBlocks{.raw = half, .partial = half / 2, .result = half};
  Schedule schedule = frameOf(request, fold.numbers * request.channels, most);
  schedule.closed = true;  // every exchange goes both ways
  schedule.scratchSegments = keepsPartials(fold, request.rank) ? request.channels : 0;
  for (int channel = 0; channel < request.channels; ++channel) {
    addAllReduceLane(schedule.lanes.emplace_back(), request, channel);
  }
  return schedule;
}

// Here the blocks are the ranks' segments, so the farthest partner comes first: then what is kept is
// consecutive. A message holds segments of several ranks, which is why all channels' parts travel together on
// channel 0.
Schedule buildReduceScatter(const ScheduleRequest& request) {
  const Fold fold(request.nranks);
  const int rank = request.rank;
  const int v = fold.numberOf(rank);
  // A surplus rank gives everything, and its neighbour a sum of the other half: the upper one, which stands
  // for `half` ranks as long as all neighbours are in the lower half; else also the lower one, two ranks a
  // number.
  const int half = fold.numbers / 2;
  const LinkBlocks most = fold.surplus > 0 ? LinkBlocks{.raw = request.nranks,
                                                        .partial = fold.surplus > half ? fold.numbers : half,
                                                        .result = 1}
                                           : LinkBlocks{.raw = half, .partial = half / 2};
  Schedule schedule = frameOf(request, 1, most);
  schedule.closed = true;  // every exchange goes both ways
  Lane& lane = schedule.lanes.emplace_back();
  const auto link = [](int peer, Form form, Range range) {
    return place::link(peer, 0, form, range.first, range.count);
  };
  const auto input = [](Range range) { return place::input(Form::raw, range.first, range.count); };
  const auto partial = [](Range range) { return place::scratch(Form::partial, range.first, range.count); };
  const Range all = {0, request.nranks};
  const Place output = place::output(Form::result, 0);
  if (fold.isSurplus(rank)) {
    addStep(lane, {input(all)}, {link(rank - 1, Form::raw, all)});
    addStep(lane, {link(rank - 1, Form::result, {rank, 1})}, {output});
    return schedule;
  }
  schedule.scratchSegments = keepsPartials(fold, rank) ? request.nranks : 0;
  const bool folded = fold.isFolded(v);
  if (folded) addStep(lane, {input(all), link(rank + 1, Form::raw, all)}, {partial(all)});
  const auto segmentsOf = [&fold](int number, int count) {
    return Range{fold.rankOf(number), fold.ranksIn(number, count)};
  };
  bool summed = folded;
  for (int distance = fold.numbers / 2; distance >= 1; distance /= 2) {
    const int other = v ^ distance;
    const int partner = fold.rankOf(other);
    const bool othersSummed = fold.isFolded(other) || distance < fold.numbers / 2;
    const Range keep = segmentsOf(v & ~(distance - 1), distance);
    const Range give = segmentsOf(other & ~(distance - 1), distance);
    const auto sendSum = [&](Range range) {
      addStep(lane, {summed ? partial(range) : input(range)},
              {link(partner, summed ? Form::partial : Form::raw, range)});
    };
    const auto addTo = [&](Range range, Place destination) {
      std::vector<Place> sources = {summed ? partial(range) : input(range),
                                    link(partner, othersSummed ? Form::partial : Form::raw, range)};
      if (partner < rank) std::swap(sources[0], sources[1]);
      addStep(lane, std::move(sources), {destination});
    };
    if (distance > 1) {
      sendSum(give);
      addTo(keep, partial(keep));
    } else {
      // The last level: a message for each rank, because each is finished in another place.
      for (int i = 0; i < give.count; ++i) sendSum({give.first + i, 1});
      addTo({rank, 1}, output);
      if (folded) addTo({rank + 1, 1}, link(rank + 1, Form::result, {rank + 1, 1}));
    }
    summed = true;
  }
  return schedule;
}

}  // namespace

Schedule buildHalvingDoubling(const ScheduleRequest& request) {
  if (request.collective == Collective::allReduce) return buildAllReduce(request);
  if (request.collective == Collective::reduceScatter) return buildReduceScatter(request);
  return buildDoublingAllGather(request);
}

}  // namespace tutti
