// Two shots over slots: every rank owns one block of the vector, gets it from all the others, adds in the
// order of ranks, and sends the result to all. The bytes of a ring in two messages' time, on a full set of
// links.
#include "collectives/builders.h"
#include "collectives/places.h"

namespace tutti {

Schedule buildTwoShot(const ScheduleRequest& request) {
  const int n = request.nranks;
  const int rank = request.rank;
  Schedule schedule = frameOf(request, n * request.channels, {.raw = 1, .result = 1});
  schedule.closed = true;  // everybody hears from everybody
  for (int channel = 0; channel < request.channels; ++channel) {
    Lane& lane = schedule.lanes.emplace_back();
    const auto blockOf = [&](int owner) { return channel * n + owner; };
    for (int k = 1; k < n; ++k) {
      const int owner = wrap(rank + k, n);
      addStep(lane, {place::input(Form::raw, blockOf(owner))},
              {place::link(owner, channel, Form::raw, blockOf(owner))});
    }
    std::vector<Place> sources;
    std::vector<Place> destinations = {place::output(Form::result, blockOf(rank))};
    for (int from = 0; from < n; ++from) {
      sources.push_back(from == rank ? place::input(Form::raw, blockOf(rank))
                                     : place::link(from, channel, Form::raw, blockOf(rank)));
    }
    for (int k = 1; k < n; ++k) {
      destinations.push_back(place::link(wrap(rank + k, n), channel, Form::result, blockOf(rank)));
    }
    addStep(lane, std::move(sources), std::move(destinations));
    for (int k = 1; k < n; ++k) {
      const int owner = wrap(rank - k, n);
      addStep(lane, {place::link(owner, channel, Form::result, blockOf(owner))},
              {place::output(Form::result, blockOf(owner))});
    }
  }
  return schedule;
}

}  // namespace tutti
