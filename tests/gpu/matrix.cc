// See matrix.h.
#include "tests/gpu/matrix.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "tests/gpu/host_memory.h"
#include "tests/gpu/host_ranks.h"

namespace tutti::cuda {
namespace {

constexpr std::uint32_t kSlots = 4;
constexpr std::uint64_t kSlotBytes = 4096;
constexpr std::size_t kMostFaults = 20;

// Calls that are placed together, on one communicator.
struct Batch {
  int nranks;
  std::vector<VirtualCall> calls;
};

struct Places {
  bool inPlace;
  unsigned inputSkew;
  unsigned outputSkew;
};
constexpr Places kPlaces[] = {{false, 0, 0}, {false, 1, 0}, {false, 0, 1},
                              {false, 1, 1}, {true, 0, 0},  {true, 1, 0}};
constexpr std::size_t kVariants = std::size(kPlaces);

// The batch of one type and operation.
class BatchMaker {
 public:
  BatchMaker(int nranks, DataType type, Operation operation)
      : nranks_(nranks), type_(type), operation_(operation), batch_{nranks, {}} {}

  Batch make(const MatrixExtent& extent) {
    const auto turn = static_cast<unsigned>(type_) * kOperations + static_cast<unsigned>(operation_);
    unsigned pair = 0;  // of collective and algorithm
    for (int c = 0; c < kCollectives; ++c) {
      const auto collective = static_cast<Collective>(c);
      if (collective == Collective::barrier || (!reduces(collective) && operation_ != Operation::sum))
        continue;
      for (int a = 0; a < kAlgorithms; ++a) {
        const auto algorithm = static_cast<Algorithm>(a);
        if (algorithm == Algorithm::none || !serves(algorithm, collective, nranks_)) continue;
        for (std::uint64_t size : extent.sizes) {
          for (const Places& places : kPlaces) add(collective, algorithm, size, places, 1);
        }
        for (std::uint64_t size : extent.largeSizes)
          add(collective, algorithm, size, kPlaces[(turn + pair) % kVariants],
              1 + static_cast<int>(turn % 2));
        const unsigned pairs = reduces(collective) ? kDataTypes * kOperations : kDataTypes;
        const unsigned own = reduces(collective) ? turn : static_cast<unsigned>(type_);
        for (std::uint64_t size : extent.hugeSizes) {
          if (pair * 7 % pairs == own)
            add(collective, algorithm, size, kPlaces[pair % kVariants], 1 + static_cast<int>(pair % 2) * 3);
        }
        ++pair;
      }
    }
    return std::move(batch_);
  }

 private:
  void add(Collective collective, Algorithm algorithm, std::uint64_t size, const Places& places,
           int channels) {
    VirtualCall call{collective, algorithm, size};
    const auto segments =
        static_cast<unsigned>(inputSegmentsOf(collective, nranks_) * outputSegmentsOf(collective, nranks_));
    call.count = (size + segments - 1) / segments;
    if (isRooted(collective)) call.root = static_cast<int>(turn_++ % static_cast<unsigned>(nranks_));
    call.channels = channels;
    call.type = type_;
    call.operation = operation_;
    call.inPlace = places.inPlace;
    call.inputSkew = places.inputSkew;
    call.outputSkew = places.outputSkew;
    // On windows after the exchange of their places, as a call does it.
    if (algorithm == Algorithm::twoShotWindow)
      batch_.calls.push_back({Collective::barrier, Algorithm::oneShot, 0});
    batch_.calls.push_back(call);
    call.format = MailboxFormat::words;
    batch_.calls.push_back(call);
  }

  const int nranks_;
  const DataType type_;
  const Operation operation_;
  Batch batch_;
  unsigned turn_ = 0;
};

std::vector<Batch> batchesOf(const MatrixExtent& extent) {
  std::vector<Batch> batches;
  for (int nranks : extent.nranks) {
    for (int type = 0; type < kDataTypes; ++type) {
      for (int operation = 0; operation < kOperations; ++operation)
        batches.push_back(
            BatchMaker(nranks, static_cast<DataType>(type), static_cast<Operation>(operation)).make(extent));
    }
  }
  return batches;
}

// More than a call takes of an arena.
std::size_t roomFor(const VirtualCall& call, int nranks) {
  const auto ranks = static_cast<std::size_t>(nranks);
  const std::size_t elements = call.count * static_cast<unsigned>(inputSegmentsOf(call.collective, nranks) +
                                                                  outputSegmentsOf(call.collective, nranks));
  // Scratch has at most a round of each rank's part, in the widest form.
  return ranks * (elements * bytesOf(call.type) + ranks * kSlotBytes * 4 + (std::size_t{64} << 10));
}

class Worker {
 public:
  Worker(MatrixTarget& target, MatrixResult& result, std::mutex& mutex)
      : target_(target), golden_(target.capacity()), result_(result), mutex_(mutex) {}

  // False if it ended early.
  bool run(const Batch& batch) {
    begin(batch);
    for (const VirtualCall& call : batch.calls) {
      if (!communicator_->serves(call)) continue;
      if (communicator_->nblocksOf(call) > target_.mostBlocks()) {
        const std::lock_guard lock(mutex_);
        ++result_.leftOut;
        continue;
      }
      if (arena_->used() + roomFor(call, batch.nranks) > target_.capacity() && !calls_.empty()) {
        if (!finish()) return false;
        begin(batch);
      }
      calls_.push_back(communicator_->place(call));
      wanted_.push_back(goldenCommunicator_->place(call, MailboxFormat::slots));
    }
    return finish();
  }

 private:
  void begin(const Batch& batch) {
    arena_ = std::make_unique<Arena>(target_.host(), target_.device(), target_.capacity());
    goldenArena_ = std::make_unique<Arena>(golden_.data(), golden_.data(), target_.capacity());
    communicator_ = std::make_unique<VirtualCommunicator>(*arena_, batch.nranks, kSlots, kSlotBytes);
    goldenCommunicator_ =
        std::make_unique<VirtualCommunicator>(*goldenArena_, batch.nranks, kSlots, kSlotBytes);
    calls_.clear();
    wanted_.clear();
  }

  // False if not all of the calls came to their end.
  bool finish() {
    if (calls_.empty()) return true;
    const MatrixRun ran = target_.run(arena_->used(), calls_);
    bool whole = ran.failure.empty() && ran.ncalls == calls_.size();
    MatrixResult own;
    const auto count = [&own](const std::vector<std::string>& faults) {
      own.wrong += faults.empty() ? 0 : 1;
      own.faults.insert(own.faults.end(), faults.begin(), faults.end());
    };
    own.calls = ran.ncalls;
    if (!ran.failure.empty()) count({ran.failure});
    if (!ran.isBack) {
      add(own);
      return false;
    }
    // Whose batch it is: what is not of one call does not say it.
    const VirtualCall& last = calls_.back().call;
    const std::string batch = fmt::format("{} ranks, {} {}: ", calls_.back().launch.nranks, nameOf(last.type),
                                          nameOf(last.operation));
    if (!runOnHost(wanted_)) count({batch + "the golden results did not come to their end"});
    for (std::size_t c = 0; c < ran.ncalls; ++c) {
      own.callsAsWords += calls_[c].call.format == MailboxFormat::words ? 1 : 0;
      const std::vector<std::string> faults = communicator_->faultsOf(calls_[c]);
      if (!faults.empty()) whole = false;
      count(faults.empty() ? differencesOf(calls_[c], wanted_[c]) : faults);
    }
    // A call that did not end leaves links as they may be.
    if (whole) {
      std::vector<std::string> faults = communicator_->faultsOfLinks();
      for (std::string& fault : faults) fault = batch + fault;
      count(faults);
    }
    if (!arena_->areGuardsUntouched()) count({batch + "bytes between the buffers were written"});
    add(own);
    return whole;
  }

  void add(const MatrixResult& own) {
    const std::lock_guard lock(mutex_);
    result_.calls += own.calls;
    result_.callsAsWords += own.callsAsWords;
    result_.wrong += own.wrong;
    for (const std::string& fault : own.faults) {
      if (result_.faults.size() < kMostFaults) result_.faults.push_back(fault);
    }
  }

  MatrixTarget& target_;
  HostMemory golden_;
  MatrixResult& result_;
  std::mutex& mutex_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Arena> goldenArena_;
  std::unique_ptr<VirtualCommunicator> communicator_;
  std::unique_ptr<VirtualCommunicator> goldenCommunicator_;
  std::vector<PlacedCall> calls_;
  std::vector<PlacedCall> wanted_;
};

}  // namespace

MatrixResult runMatrix(const MatrixExtent& extent, unsigned nworkers,
                       const std::function<std::unique_ptr<MatrixTarget>()>& makeTarget) {
  const std::vector<Batch> batches = batchesOf(extent);
  MatrixResult result;
  std::mutex mutex;
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> nbroken{0};
  std::vector<std::thread> workers;
  for (unsigned w = 0; w < nworkers; ++w) {
    workers.emplace_back([&] {
      const std::unique_ptr<MatrixTarget> target = makeTarget();
      if (target == nullptr) return;
      Worker worker(*target, result, mutex);
      for (std::size_t b = next++; b < batches.size() && nbroken < kMostBrokenBatches; b = next++) {
        if (!worker.run(batches[b])) ++nbroken;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  result.nbroken = nbroken;
  return result;
}

}  // namespace tutti::cuda
