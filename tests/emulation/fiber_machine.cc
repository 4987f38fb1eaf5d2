// See machine.h: a fiber for each emulated thread, a barrier for each block and for each rank.
#include <atomic>
#include <memory>

#include "fibers.h"
#include "machine.h"

namespace tutti::emulation {
namespace {

struct BlockBarriers {
  BlockBarriers(Scheduler& scheduler, int nthreads) : sync(scheduler, nthreads), every(scheduler, nthreads) {}

  FiberBarrier sync;
  FiberBarrier every;
};

class FiberThread final : public Thread {
 public:
  FiberThread(int rank, int block, std::uint32_t tid, std::uint32_t ntid, Scheduler& scheduler,
              BlockBarriers& barriers, FiberBarrier& rankBarrier, std::atomic<std::uint64_t>& suspicions,
              const ThreadMain& main)
      : Thread(rank, block, tid, ntid),
        scheduler_(scheduler),
        barriers_(barriers),
        rankBarrier_(rankBarrier),
        suspicions_(suspicions),
        main_(main) {}

  void sync() override { barriers_.sync.arrive(true); }
  bool every(bool own) override { return barriers_.every.arrive(own); }
  void syncRank() override { rankBarrier_.arrive(true); }
  void point() override { scheduler_.point(); }
  void miss() override { scheduler_.miss(); }
  void progress() override { scheduler_.progress(); }
  void enterCall(int call) override { scheduler_.setCall(call); }
  void suspect(const MailboxEnd&) override { suspicions_.fetch_add(1, std::memory_order_relaxed); }

  static void enter(void* argument) {
    auto& thread = *static_cast<FiberThread*>(argument);
    thread.main_(thread);
  }

 private:
  Scheduler& scheduler_;
  BlockBarriers& barriers_;
  FiberBarrier& rankBarrier_;
  std::atomic<std::uint64_t>& suspicions_;
  const ThreadMain& main_;
};

}  // namespace

Played playOnFibers(const Grid& grid, std::uint64_t seed, int ncalls, const ThreadMain& main) {
  Scheduler scheduler(seed);
  std::atomic<std::uint64_t> suspicions{0};
  std::vector<std::unique_ptr<BlockBarriers>> blocks;
  std::vector<std::unique_ptr<FiberBarrier>> ranks;
  std::vector<std::unique_ptr<FiberThread>> threads;
  for (int rank = 0; rank < grid.nranks; ++rank) {
    ranks.push_back(std::make_unique<FiberBarrier>(scheduler, grid.nblocks * grid.nthreads));
    for (int block = 0; block < grid.nblocks; ++block) {
      blocks.push_back(std::make_unique<BlockBarriers>(scheduler, grid.nthreads));
      for (int tid = 0; tid < grid.nthreads; ++tid) {
        threads.push_back(std::make_unique<FiberThread>(rank, block, static_cast<std::uint32_t>(tid),
                                                        static_cast<std::uint32_t>(grid.nthreads), scheduler,
                                                        *blocks.back(), *ranks.back(), suspicions, main));
        scheduler.add(rank, &FiberThread::enter, threads.back().get());
      }
    }
  }
  Played played;
  played.stalled = scheduler.run() == Ending::stalled;
  played.suspicions = suspicions.load();
  played.switches = scheduler.switches();
  for (int call = 0; call < ncalls; ++call) played.interleavings.push_back(scheduler.interleavings(call));
  return played;
}

}  // namespace tutti::emulation
