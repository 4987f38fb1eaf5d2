// The schedules of all ranks as one network: lanes joined by links, in flat arrays that a run goes through
// quickly. Making it checks every rule that needs no run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/checker.h"

namespace tutti {

class CheckNetwork {
 public:
  struct NetPlace {
    Where where;
    Form form;
    int owner;  // whose buffer
    int link;   // -1: none
    int block;
    int nblocks;
  };

  struct NetStep {
    int firstPlace;
    int nsources;
    int ndestinations;
    int nblocks;  // 0: empty messages only
    bool copies;  // otherwise computes, if it carries data
  };

  struct NetLane {
    int rank;
    int index;  // within its rank
    int firstStep;
    int nsteps;
  };

  struct Message {
    int step;  // of all
    Place place;
  };

  struct NetLink {
    int from;
    int to;
    int channel;
    int sender = -1;    // lane
    int receiver = -1;  // lane
    std::vector<Message> sent;
    std::vector<Message> taken;
  };

  CheckNetwork(const std::vector<Schedule>& perRank, Collective collective, int root);

  // Says where a step stands, with its text, for a finding.
  std::string locate(int lane, int step) const;
  Finding findingAt(FindingKind kind, int lane, int step, int block, const std::string& what) const;

  const std::vector<Schedule>& schedules() const { return schedules_; }
  bool mayReadInput(int rank) const { return collective != Collective::broadcast || rank == root; }
  bool mayTouchOutput(int rank) const { return collective != Collective::reduce || rank == root; }

  Collective collective;
  int root;
  int nranks;
  int blocksPerSegment = 1;
  bool declaredClosed = false;
  bool afterExchange = false;
  bool usesWindows = false;
  bool runnable = true;  // false: the findings leave nothing that could run
  std::vector<NetLane> lanes;
  std::vector<NetStep> steps;
  std::vector<NetPlace> places;
  std::vector<NetLink> links;
  std::vector<int> inputBlocks;  // by rank
  std::vector<int> outputBlocks;
  std::vector<int> scratchBlocks;
  std::vector<Finding> findings;

 private:
  void checkFrames();
  void addLane(int rank, int index);
  void addStep(int lane, int index, const Step& step);
  bool checkPlace(int lane, int index, const Place& place, bool source);
  void checkStepForms(int lane, int index, const Step& step, bool copies);
  void checkStepOverlaps(int lane, int index, const NetStep& step);
  void checkScratch(int lane, int index, const Place& place);
  int linkOf(int lane, int index, const Place& place, bool source);
  void checkLinks();
  void checkMostLinkBlocks();
  void report(FindingKind kind, int lane, int step, int block, const std::string& what);
  void refuse(FindingKind kind, int lane, int step, int block, const std::string& what);

  struct ScratchUse {
    int lane = -1;
    Form form = Form::raw;
  };

  std::vector<Schedule> schedules_;
  std::vector<std::vector<ScratchUse>> scratch_;  // by rank and segment
  std::vector<std::vector<std::pair<std::uint64_t, int>>>
      linksFrom_;  // by sender: (receiver, channel) and link
};

}  // namespace tutti
