// See host_ranks.h.
#include "tests/gpu/host_ranks.h"

#include <memory>

#include "collectives/host_context.h"
#include "kernels/float_environment.h"

namespace tutti::cuda {
namespace {

// A lane with a workspace of its own.
struct HostLane {
  explicit HostLane(const VirtualLane& from)
      : program(from.program),
        words(from.noperands + from.nruns + from.nstepEnds + from.program.nsteps),
        sources(from.program.mostOperands),
        destinations(from.program.mostOperands) {
    state.program = &program;
    state.ends = from.ends;
    state.format = from.format;
    state.scratch = from.scratch;
    state.scratchStride = from.scratchStride;
    state.sources = sources.data();
    state.destinations = destinations.data();
    state.fit.offsets = words.data();
    state.fit.runElements = state.fit.offsets + from.noperands;
    state.fit.messageBytes = state.fit.runElements + from.nruns;
    state.fit.stepElements = state.fit.messageBytes + from.nstepEnds;
  }

  LaneProgram program;
  std::vector<std::uint64_t> words;
  std::vector<Source> sources;
  std::vector<Destination> destinations;
  LaneState state;
};

bool runCall(const PlacedCall& placed) {
  HostContext context;
  context.kernel = reduceCopyFor(placed.call.type, placed.call.operation);
  std::vector<std::unique_ptr<HostLane>> lanes(placed.hasLane.size());
  bool done = true;
  std::uint32_t calls = 0;
  while (done && calls < placed.call.repeats) {
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      if (!placed.hasLane[i]) continue;
      if (lanes[i] == nullptr) lanes[i] = std::make_unique<HostLane>(placed.lanes[i]);
      beginLane(context, lanes[i]->state, placed.calls[i / placed.launch.nlanes]);
    }
    // A pass in which nothing fires says that nothing ever will.
    for (bool fired = true; fired;) {
      fired = false;
      done = true;
      for (const auto& lane : lanes) {
        if (lane == nullptr) continue;
        while (advance(context, lane->state)) fired = true;
        done = done && lane->state.done;
      }
    }
    if (done) ++calls;
  }
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    if (lanes[i] == nullptr) continue;
    const LaneState& lane = lanes[i]->state;
    placed.outcomes[i] = {lane.stepsFired, lane.messagesSent, lane.bytesSent, calls,
                          lane.step,       lane.round,        lane.done,      context.suspicious};
  }
  return done;
}

}  // namespace

bool runOnHost(const std::vector<PlacedCall>& calls) {
  const FloatEnvironment environment;
  for (const PlacedCall& placed : calls) {
    if (!runCall(placed)) return false;
  }
  return true;
}

}  // namespace tutti::cuda
