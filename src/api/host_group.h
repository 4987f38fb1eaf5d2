// A communicator whose ranks are in processes of one host. What they share lies in the arena of rank 0's process:
// the state of the ranks, then the directory of the links.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/peers.h"
#include "api/rank_group.h"
#include "transport/shared/arena.h"
#include "transport/shared/links.h"

namespace tutti {

// A process with ranks in the communicator, as this process sees it.
struct GroupProcess {
  std::string name;  // as process_name.h says it
  std::vector<int> ranks;
  std::span<std::byte> memory;  // its arena
  std::shared_ptr<Peer> peer;   // null: this process
};

class HostGroup : public RankGroup, public std::enable_shared_from_this<HostGroup> {
 public:
  // Of the state of the ranks and the directory.
  static std::size_t stateBytesFor(int nranks);

  // `own`: the index of this process; `arena`: its own, `stateAt`: the state's offset in the arena of the process
  // with rank 0, which is the first.
  static std::shared_ptr<HostGroup> make(int nranks, std::string label, const Settings& settings,
                                         std::vector<GroupProcess> processes, int own, Arena& arena,
                                         std::uint64_t stateAt);

  std::unique_ptr<LinkSource> linksOf(int rank) override;
  void end(int rank, LinkSource& links) noexcept override;
  std::span<const std::span<std::byte>> windows() const override { return windows_; }
  bool canBeWindow(const void* begin, std::size_t bytes) const override;
  bool isInThisProcess(int rank) const override { return processOf_[static_cast<std::size_t>(rank)] == own_; }
  bool isDead(int rank) const override;

  // For a rank of this process that all others believe to be there, and that could not be made: breaks the
  // communicator, and the rank is gone. Static: where there is no group in this process, for want of memory.
  void miss(int rank, const Status& why) noexcept;
  static void miss(std::byte* state, int nranks, int rank, const Status& why) noexcept;

  // The node of a list that holds the group when it is buried, made in time.
  std::list<std::shared_ptr<HostGroup>>& grave() { return grave_; }

  // Gives back what can be: true when nothing is left to give back. Any thread, one at a time.
  bool sweep();

 private:
  HostGroup(int nranks, std::string label, const Settings& settings, std::vector<GroupProcess> processes,
            int own, Arena& arena, std::uint64_t stateAt);
  void processEnded(std::size_t process);
  void oneGone(std::vector<std::uint64_t> made) noexcept;

  const std::vector<GroupProcess> processes_;
  const int own_;
  Arena& arena_;
  const std::uint64_t stateAt_;
  std::vector<int> processOf_;  // by rank
  std::vector<std::span<std::byte>> arenas_;
  std::vector<std::span<std::byte>> windows_;  // by rank
  LinkDirectory directory_;

  std::mutex mutex_;  // guards what follows
  std::vector<std::vector<std::uint64_t>>
      made_;  // by ranks that are gone: links in our arena; has room for all
  std::list<std::shared_ptr<HostGroup>> grave_{std::list<std::shared_ptr<HostGroup>>(1)};
  bool forgot_ = false;  // the state is touched no more
};

}  // namespace tutti
