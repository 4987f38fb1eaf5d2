// Which algorithm serves a call. A pure function of the plan table and of facts that all ranks share in that
// call, so that all ranks choose the same without asking each other; it returns its reason in words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/mailbox_end.h"
#include "base/status.h"
#include "collectives/schedule.h"

namespace tutti {

struct CallFacts {
  Collective collective = Collective::allReduce;
  DataType type = DataType::f32;
  Operation operation = Operation::sum;
  std::uint64_t count = 0;  // elements of a segment
  int nranks = 1;
  bool windows = false;  // every rank's buffers lie in registered memory
};

struct Choice {
  Algorithm algorithm = Algorithm::none;
  MailboxFormat format = MailboxFormat::slots;
  int channels = 1;
  std::uint64_t slotBytes = 0;  // the largest message; 0: as large as slots are
  const char* reason = "";      // a constant text
};

// Algorithms that the user demands, by collective.
class ForcedAlgorithms {
 public:
  // "ring", or "allreduce=ring,broadcast=binomial"; empty forces nothing.
  static Result<ForcedAlgorithms> parse(std::string_view text);

  std::optional<Algorithm> of(Collective collective) const { return forced_[static_cast<int>(collective)]; }

 private:
  std::optional<Algorithm> forced_[kCollectives];
};

// The names that settings use: "allreduce", "reducescatter", "oneshot", ...
const char* settingNameOf(Collective collective);
const char* settingNameOf(Algorithm algorithm);

struct PlanTable {
  ForcedAlgorithms forced;
  std::uint64_t lineBytes = 0;  // the largest message that links carry as lines
  std::uint64_t slotBytes = 0;
};

// Refused when a forced algorithm cannot serve the call: invalidArgument, on every rank alike.
Result<Choice> choose(const PlanTable& table, const CallFacts& facts);

// True when ranks first exchange whether and where their buffers are registered, given that the communicator
// has registrations at all. Depends on shared facts only.
bool wantsWindows(const PlanTable& table, const CallFacts& facts);

}  // namespace tutti
