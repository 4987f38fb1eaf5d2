// Short names for the places of a schedule, and the frame that every builder starts from, so that a builder
// reads like the drawing in docs/algorithms.md. Which blocks go where is the builders' business.
#pragma once

#include <utility>

#include "collectives/schedule.h"

namespace tutti::place {

inline Place input(Form form, int block, int nblocks = 1) {
  return {Where::input, form, -1, 0, block, nblocks};
}

inline Place output(Form form, int block, int nblocks = 1) {
  return {Where::output, form, -1, 0, block, nblocks};
}

inline Place scratch(Form form, int block, int nblocks = 1) {
  return {Where::scratch, form, -1, 0, block, nblocks};
}

// As a destination the link to `peer`, as a source the link from it.
inline Place link(int peer, int channel, Form form, int block, int nblocks = 1) {
  return {Where::link, form, peer, channel, block, nblocks};
}

// One empty message to or from `peer`.
inline Place signal(int peer, int channel) {
  return {Where::link, Form::raw, peer, channel, 0, 0};
}

inline Place peerInput(int peer, Form form, int block, int nblocks = 1) {
  return {Where::peerInput, form, peer, 0, block, nblocks};
}

inline Place peerOutput(int peer, Form form, int block, int nblocks = 1) {
  return {Where::peerOutput, form, peer, 0, block, nblocks};
}

}  // namespace tutti::place

namespace tutti {

// Schedule::mostLinkBlocks by name. The checker compares it with the messages.
struct LinkBlocks {
  int raw = 0;
  int partial = 0;
  int result = 0;
};

// A schedule without lanes whose segments are those of the collective.
inline Schedule frameOf(const ScheduleRequest& request, int blocksPerSegment, const LinkBlocks& most) {
  Schedule schedule;
  schedule.blocksPerSegment = blocksPerSegment;
  schedule.mostLinkBlocks = {most.raw, most.partial, most.result};
  schedule.inputSegments = inputSegmentsOf(request.collective, request.nranks);
  schedule.outputSegments = outputSegmentsOf(request.collective, request.nranks);
  return schedule;
}

// value modulo n, never negative.
constexpr int wrap(int value, int n) {
  return ((value % n) + n) % n;
}

inline void addStep(Lane& lane, std::vector<Place> sources, std::vector<Place> destinations) {
  lane.steps.push_back({std::move(sources), std::move(destinations)});
}

}  // namespace tutti
