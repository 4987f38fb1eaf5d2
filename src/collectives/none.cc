// One rank: its result is its own contribution. A reduction still computes, because an average divides and a
// premultiplied sum multiplies even then; everything else copies.
#include "collectives/builders.h"
#include "collectives/places.h"

namespace tutti {

Schedule buildNone(const ScheduleRequest& request) {
  Schedule schedule = frameOf(request, 1, {});
  schedule.closed = true;
  if (request.collective == Collective::barrier) return schedule;
  const Form form = reduces(request.collective) ? Form::result : Form::raw;
  Lane& lane = schedule.lanes.emplace_back();
  addStep(lane, {place::input(Form::raw, 0)}, {place::output(form, 0)});
  return schedule;
}

}  // namespace tutti
