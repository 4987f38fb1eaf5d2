// The checker proves the schedules of all ranks together, before anything runs them: that they end, that
// every block ends with the right contributions, and that no two accesses to memory clash. By rule 1 of
// schedule.h a set of schedules is a deterministic dataflow network, so one greedy run with bounded slots
// stands for every timing.
//
// What precedes what is taken from messages alone, never from credits, so the findings about data, races and
// closedness hold for any number of slots; only deadlock depends on them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collectives/schedule.h"
#include "kernels/cut.h"

namespace tutti {

enum class FindingKind : std::uint8_t {
  missingContribution,     // an output lacks a rank's data, or is never written
  doubledContribution,     // a rank's data is added twice
  wrongData,               // a block of another place or round, or nobody's data at all
  wrongRoot,               // data of a rank that is not the root
  differentBits,           // ranks add the same block in different orders
  deadlock,                // no lane can go on
  unmatchedLink,           // the two ends of a link disagree about its messages
  endUsedByTwoLanes,       // rule 1
  blockSizeMismatch,       // rule 7
  formError,               // rule 5, or a value that has another form than its place says
  race,                    // two accesses that no message orders
  closednessWrong,         // the flag is not what the messages give
  scratchShared,           // a segment of scratch used by two lanes
  outOfRange,              // a block, peer or channel that does not exist
  touchesForbiddenBuffer,  // a write to an input; a buffer that this rank need not have; a window before any
                           // exchange
  linkBlocksWrong,         // mostLinkBlocks is not the largest message of all ranks
  malformed,               // a step or a set of schedules that means nothing
};
const char* nameOf(FindingKind kind);

// Numbers that do not apply are -1. The text says it all again, for people.
struct Finding {
  FindingKind kind;
  int rank = -1;
  int lane = -1;
  int step = -1;
  int block = -1;
  std::string text;
};

struct CheckOptions {
  int slots = 2;
  int rounds = 1;
  bool inPlace =
      false;  // input and output share memory as the in-place rule of the collective says, on every rank
  bool endsOnly = false;  // look for deadlock alone: what else is proved does not depend on `slots`
  int mostFindings = 20;
};

// One direction between two ranks: the messages of one round, in order.
struct LinkTraffic {
  int from;
  int to;
  int channel;
  std::vector<Place> messages;
};

struct CheckReport {
  std::vector<Finding> findings;
  std::vector<std::int64_t> stepsFired;  // by rank, over all rounds
  std::int64_t longestPath = 0;          // steps, over all rounds
  bool closed = false;
  bool orderPreserving =
      false;  // sums of consecutive ranks in ascending order, as non-commutative operations need
  std::int64_t checks = 0;  // steps fired, values compared and pairs of accesses found ordered

  bool ok() const { return findings.empty(); }
  bool has(FindingKind kind) const;
  std::string text() const;  // one line for each finding
};

class CheckNetwork;

// Holds the schedules of all ranks, by rank, and what follows from their text alone; each run adds what needs
// one.
class ScheduleChecker {
 public:
  ScheduleChecker(const std::vector<Schedule>& perRank, Collective collective, int root);
  ~ScheduleChecker();
  ScheduleChecker(const ScheduleChecker&) = delete;
  ScheduleChecker& operator=(const ScheduleChecker&) = delete;

  CheckReport run(const CheckOptions& options) const;
  std::vector<LinkTraffic> traffic() const;

 private:
  std::unique_ptr<CheckNetwork> network_;
};

CheckReport checkSchedules(const std::vector<Schedule>& perRank, Collective collective, int root,
                           const CheckOptions& options);

struct LinkBytes {
  int from;
  int to;
  int channel;
  std::uint64_t bytes;
  std::uint64_t messages;
};

// What a call moves over each link, without flags and padding.
std::vector<LinkBytes> linkBytes(const std::vector<LinkTraffic>& traffic, const Cut& cut, DataType type,
                                 Operation operation);

}  // namespace tutti
