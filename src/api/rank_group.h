// What the ranks of this process share of one communicator, wherever its other ranks are: threads of this process
// only (local_group.h), or processes of this host (host_group.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/settings.h"
#include "base/link_source.h"
#include "runtime/cores.h"
#include "runtime/roll_call.h"
#include "transport/link_memory.h"

namespace tutti {

class RankGroup {
 public:
  virtual ~RankGroup() = default;
  RankGroup(const RankGroup&) = delete;
  RankGroup& operator=(const RankGroup&) = delete;

  const int nranks;
  const std::string label;
  const Settings settings;
  const LinkOptions linkOptions;
  const std::uint64_t streamFrom;  // see collectives/streaming.h
  const SharedRanks ranks;
  RollCall rollCall;
  Cores cores;

  // The links of a rank of this process, for one communicator.
  virtual std::unique_ptr<LinkSource> linksOf(int rank) = 0;
  // The rank is gone: it uses neither its links nor its peers' memory any more.
  virtual void end(int rank, LinkSource& links) noexcept = 0;

  // Where this process sees the memory that the windows of each rank lie in; empty: all ranks see the same addresses.
  virtual std::span<const std::span<std::byte>> windows() const = 0;
  // Whether all ranks can reach the range.
  virtual bool canBeWindow(const void* begin, std::size_t bytes) const = 0;

  virtual bool isInThisProcess(int rank) const = 0;
  // Its process has ended, and touches nothing any more.
  virtual bool isDead(int rank) const = 0;

  // Returns once no other rank works on the windows of a call that `rank` has left broken, at `left`.
  void awaitWindows(int rank, std::chrono::steady_clock::time_point left) const noexcept;

 protected:
  // `memory`: of SharedRanks; it outlives the object.
  RankGroup(int nranks, std::string label, const Settings& settings, std::byte* memory);
};

}  // namespace tutti
