// See machine.h: a std::thread for each emulated thread. Nothing repeats here; it is the check on the fibers
// that time is real and threads truly run at once.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "machine.h"

namespace tutti::emulation {
namespace {

// No real run takes as long, under a sanitizer and on a busy machine either.
constexpr std::chrono::seconds kStallAfter{20};

struct Stalled {};

struct Shared {
  std::atomic<bool> stalled{false};
  std::atomic<std::int64_t> lastProgress{0};
  std::atomic<std::uint64_t> suspicions{0};
  std::vector<std::atomic<int>> inside;  // ranks in a call, by call
  std::vector<std::atomic<int>> most;

  explicit Shared(std::size_t ncalls) : inside(ncalls), most(ncalls) { progress(); }

  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void progress() { lastProgress.store(now(), std::memory_order_relaxed); }
  void throwIfStalled() {
    if (now() - lastProgress.load(std::memory_order_relaxed) > std::chrono::milliseconds(kStallAfter).count())
      stalled.store(true, std::memory_order_relaxed);
    if (stalled.load(std::memory_order_relaxed)) throw Stalled{};
  }
};

class Barrier {
 public:
  Barrier(Shared& shared, int count) : shared_(shared), count_(count) {}

  bool arrive(bool own) {
    std::unique_lock lock(mutex_);
    const std::uint64_t generation = generation_;
    bool& all = all_[generation % 2];
    if (arrived_ == 0) all = true;
    all = all && own;
    if (++arrived_ == count_) {
      arrived_ = 0;
      ++generation_;
      changed_.notify_all();
      return all;
    }
    while (generation_ == generation) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      if (generation_ == generation) shared_.throwIfStalled();
    }
    return all;
  }

 private:
  Shared& shared_;
  const int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::uint64_t generation_ = 0;
  bool all_[2] = {true, true};
};

struct BlockBarriers {
  BlockBarriers(Shared& shared, int nthreads) : sync(shared, nthreads), every(shared, nthreads) {}

  Barrier sync;
  Barrier every;
};

class RealThread final : public Thread {
 public:
  RealThread(int rank, int block, std::uint32_t tid, std::uint32_t ntid, Shared& shared,
             BlockBarriers& barriers, Barrier& rankBarrier, std::uint64_t seed)
      : Thread(rank, block, tid, ntid),
        shared_(shared),
        barriers_(barriers),
        rankBarrier_(rankBarrier),
        random_(seed * 2 + 1) {}

  void sync() override { barriers_.sync.arrive(true); }
  bool every(bool own) override { return barriers_.every.arrive(own); }
  void syncRank() override { rankBarrier_.arrive(true); }
  void point() override {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    if (random_ >> 58 == 0) std::this_thread::yield();
  }
  void miss() override {
    shared_.throwIfStalled();
    std::this_thread::yield();
  }
  void progress() override {
    if (++sinceProgress_ % 64 == 0) shared_.progress();
  }
  void enterCall(int call) override {
    if (block() != 0 || tid() != 0) return;
    if (call >= 0) {
      const int now = ++shared_.inside[static_cast<std::size_t>(call)];
      int most = shared_.most[static_cast<std::size_t>(call)];
      while (most < now && !shared_.most[static_cast<std::size_t>(call)].compare_exchange_weak(most, now)) {
      }
    } else if (call_ >= 0) {
      --shared_.inside[static_cast<std::size_t>(call_)];
    }
    call_ = call;
  }
  void suspect(const MailboxEnd&) override { shared_.suspicions.fetch_add(1, std::memory_order_relaxed); }

 private:
  Shared& shared_;
  BlockBarriers& barriers_;
  Barrier& rankBarrier_;
  std::uint64_t random_;
  std::uint64_t sinceProgress_ = 0;
  int call_ = -1;
};

}  // namespace

Played playOnThreads(const Grid& grid, std::uint64_t seed, int ncalls, const ThreadMain& main) {
  Shared shared(static_cast<std::size_t>(ncalls));
  std::vector<std::unique_ptr<BlockBarriers>> blocks;
  std::vector<std::unique_ptr<Barrier>> ranks;
  std::vector<std::unique_ptr<RealThread>> threads;
  for (int rank = 0; rank < grid.nranks; ++rank) {
    ranks.push_back(std::make_unique<Barrier>(shared, grid.nblocks * grid.nthreads));
    for (int block = 0; block < grid.nblocks; ++block) {
      blocks.push_back(std::make_unique<BlockBarriers>(shared, grid.nthreads));
      for (int tid = 0; tid < grid.nthreads; ++tid) {
        threads.push_back(std::make_unique<RealThread>(rank, block, static_cast<std::uint32_t>(tid),
                                                       static_cast<std::uint32_t>(grid.nthreads), shared,
                                                       *blocks.back(), *ranks.back(), seed + threads.size()));
      }
    }
  }
  std::vector<std::thread> running;
  for (auto& thread : threads) {
    running.emplace_back([&main, &thread] {
      try {
        main(*thread);
      } catch (const Stalled&) {
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  Played played;
  played.stalled = shared.stalled.load();
  played.suspicions = shared.suspicions.load();
  for (int call = 0; call < ncalls; ++call)
    played.interleavings.push_back(
        static_cast<std::uint64_t>(std::max(0, shared.most[static_cast<std::size_t>(call)] - 1)));
  return played;
}

}  // namespace tutti::emulation
