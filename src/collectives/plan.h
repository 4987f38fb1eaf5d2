// A plan is a schedule made ready to run on this rank: flat, its links opened, its workspace there. Plans are
// kept, so a call that has been made before allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/link_source.h"
#include "collectives/choose.h"
#include "collectives/flatten.h"

namespace tutti {

class Plan {
 public:
  // `slotBytes`: the largest message of its links.
  static Result<std::unique_ptr<Plan>> make(const ScheduleRequest& request, MailboxFormat format,
                                            LinkSource& links);

  const ScheduleRequest& request() const { return request_; }
  const FlatSchedule& flat() const { return *flat_; }
  MailboxFormat format() const { return format_; }
  std::vector<LaneState>& lanes() { return lanes_; }
  const std::vector<LaneState>& lanes() const { return lanes_; }

  // Cuts a call; `slotBytes` 0 means as large as the links carry. Refused when not even one element per block
  // fits.
  Result<Cut> cut(std::uint64_t count, const std::uint32_t (&formBytes)[3], std::uint64_t slotBytes) const;

 private:
  Plan() = default;
  std::uint64_t scratchStride() const;  // bytes that a segment of scratch may take in a round

  ScheduleRequest request_;
  MailboxFormat format_ = MailboxFormat::slots;
  std::uint64_t messageBytes_ = 0;
  std::unique_ptr<FlatSchedule> flat_;
  std::unique_ptr<FitStorage> fits_;
  std::vector<std::vector<MailboxEnd*>> ends_;  // by lane; the lanes point into it
  std::vector<Source> sources_;
  std::vector<Destination> destinations_;
  std::unique_ptr<std::byte[]> staging_;
  std::unique_ptr<std::byte[]> scratch_;
  std::vector<LaneState> lanes_;
};

// The plans of one rank of one communicator. Used by the thread that makes its calls.
class Planner {
 public:
  Planner(int rank, int nranks, LinkSource& links) : rank_(rank), nranks_(nranks), links_(links) {}

  Result<Plan*> planFor(Collective collective, int root, const Choice& choice);

 private:
  int rank_;
  int nranks_;
  LinkSource& links_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Plan>> plans_;
  std::uint64_t lastKey_ = ~std::uint64_t{0};
  Plan* last_ = nullptr;
};

}  // namespace tutti
