// What the machine itself allows, beside what the library makes of it: the exchange of a flag beside small
// calls and hand-overs of messages, two threads copying memory beside large calls. Two pinned threads do a
// batch of the one, then a batch of the other, many times over; the ratio is taken within each pair of batches,
// because a shared machine changes its speed from minute to minute.
//
//   limits_bench [pairs of batches [what]]     only the pairs with that text in their name
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "base/memory_order.h"
#include "collectives/host_context.h"
#include "common/machine.h"
#include "transport/inprocess/links.h"
#include "tutti/tutti.h"

namespace {

using Clock = std::chrono::steady_clock;
using Batch = std::function<void(int rank, int iterations)>;

struct alignas(128) Flag {
  std::uint64_t value = 0;
};
std::array<Flag, 2> flags;

// Both threads store and wait for the other's: the least time in which two ranks can hear from each other.
void exchangeFlags(int rank, int iterations) {
  Flag& mine = flags[static_cast<std::size_t>(rank)];
  const Flag& other = flags[static_cast<std::size_t>(1 - rank)];
  std::uint64_t count = mine.value;
  for (int i = 0; i < iterations; ++i) {
    tutti::storeRelease(&mine.value, ++count);
    while (tutti::loadAcquire(&other.value) < count) {
    }
  }
}

[[noreturn]] void giveUp(const char* what) {
  std::fprintf(stderr, "limits_bench: %s: %s\n", what, tuttiGetLastError(nullptr));
  std::exit(1);
}

// A message each way, by the protocol code that schedules use, without the rest.
class HandOver {
 public:
  HandOver(tutti::MailboxFormat format, std::size_t bytes) : format_(format), bytes_(bytes), hub_({}) {
    for (int rank = 0; rank < 2; ++rank) {
      ends_.push_back({hub_.open(rank, 1 - rank, 0, format, true).value(),
                       hub_.open(1 - rank, rank, 0, format, false).value(), std::vector<std::byte>(bytes)});
    }
  }

  void operator()(int rank, int iterations) {
    Ends& ends = ends_[static_cast<std::size_t>(rank)];
    for (int i = 0; i < iterations; ++i)
      format_ == tutti::MailboxFormat::lines ? byLines(ends) : bySlots(ends);
  }

 private:
  struct Ends {
    tutti::MailboxEnd* out;
    tutti::MailboxEnd* in;
    std::vector<std::byte> buffer;
  };
  static constexpr std::uint32_t kTag = 1;

  void byLines(Ends& ends) {
    tutti::HostContext context;
    tutti::fillLines(context, *ends.out, ends.buffer.data(), bytes_, kTag);
    tutti::countMessage(*ends.out, bytes_);
    while (!tutti::takeLines(context, *ends.in, ends.buffer.data(), bytes_, kTag)) {
    }
    tutti::countMessage(*ends.in, bytes_);
  }

  void bySlots(Ends& ends) {
    tutti::HostContext context;
    while (!tutti::slotFree(context, *ends.out)) {
    }
    std::memcpy(tutti::slotAt(*ends.out), ends.buffer.data(), bytes_);
    tutti::postSlot(context, *ends.out, bytes_, kTag);
    tutti::countMessage(*ends.out, bytes_);
    while (!tutti::slotArrived(context, *ends.in, bytes_, kTag)) {
    }
    std::memcpy(ends.buffer.data(), tutti::slotAt(*ends.in), bytes_);
    tutti::giveSlotBack(context, *ends.in);
    tutti::countMessage(*ends.in, bytes_);
  }

  const tutti::MailboxFormat format_;
  const std::size_t bytes_;
  tutti::InProcessHub hub_;
  std::vector<Ends> ends_;
};

// Two ranks, with plain and with registered memory.
class Ranks {
 public:
  static constexpr std::size_t kMost = 128u << 20;

  Ranks() {
    if (tuttiCommInitAll(plain_.data(), 2, nullptr) != tuttiSuccess ||
        tuttiCommInitAll(registered_.data(), 2, nullptr) != tuttiSuccess)
      giveUp("communicators");
    for (std::size_t r = 0; r < 2; ++r) {
      void* handle = nullptr;
      for (void** buffer : {&input_[r], &output_[r]}) {
        if (tuttiMemAlloc(buffer, kMost, TUTTI_DEVICE_HOST) != tuttiSuccess ||
            tuttiCommRegister(registered_[r], *buffer, kMost, &handle) != tuttiSuccess)
          giveUp("memory");
        std::memset(*buffer, 0, kMost);
      }
    }
  }

  Batch allReduce(std::size_t bytes, bool registered) {
    return [this, bytes, registered](int rank, int iterations) {
      const auto r = static_cast<std::size_t>(rank);
      const tuttiComm_t comm = registered ? registered_[r] : plain_[r];
      for (int i = 0; i < iterations; ++i) {
        if (tuttiAllReduce(input_[r], output_[r], bytes / sizeof(float), tuttiFloat32, tuttiSum, comm,
                           nullptr) != tuttiSuccess)
          giveUp("all-reduce");
      }
    };
  }

  Batch barrier() {
    return [this](int rank, int iterations) {
      for (int i = 0; i < iterations; ++i) {
        if (tuttiBarrier(plain_[static_cast<std::size_t>(rank)], nullptr) != tuttiSuccess) giveUp("barrier");
      }
    };
  }

  // Each thread copies as many bytes as a rank of a registered all-reduce reads and writes; they start together.
  Batch copies(std::size_t bytes) {
    return [this, bytes](int rank, int iterations) {
      const auto r = static_cast<std::size_t>(rank);
      for (int i = 0; i < iterations; ++i) {
        std::memcpy(output_[r], input_[r], bytes);
        exchangeFlags(rank, 1);
      }
    };
  }

 private:
  std::array<tuttiComm_t, 2> plain_{};
  std::array<tuttiComm_t, 2> registered_{};
  std::array<void*, 2> input_{};
  std::array<void*, 2> output_{};
};

struct Pair {
  std::string limit;
  std::string measured;
  int iterations;
  int mostPairs;
  Batch limitBatch;
  Batch measuredBatch;
};

void pinTo(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

double timed(const Batch& batch, int rank, int iterations) {
  exchangeFlags(rank, 16);
  const auto start = Clock::now();
  batch(rank, iterations);
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count() / iterations;
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

std::string duration(double ns) {
  return ns < 1e4   ? fmt::format("{:.0f} ns", ns)
         : ns < 1e7 ? fmt::format("{:.1f} us", ns / 1e3)
                    : fmt::format("{:.2f} ms", ns / 1e6);
}

void measure(const Pair& pair, int npairs, const std::vector<int>& cpus) {
  npairs = std::min(npairs, pair.mostPairs);
  std::vector<double> limit, measured, ratio;
  const auto play = [&](int rank) {
    pair.measuredBatch(rank, 2);
    for (int i = 0; i < npairs; ++i) {
      const double a = timed(pair.limitBatch, rank, pair.iterations);
      const double b = timed(pair.measuredBatch, rank, pair.iterations);
      if (rank != 0) continue;
      limit.push_back(a);
      measured.push_back(b);
      ratio.push_back(b / a);
    }
  };
  std::thread other([&] {
    if (cpus.size() > 1) pinTo(cpus[1]);
    play(1);
  });
  play(0);
  other.join();
  fmt::print("{:<22} {:>10} {:>10}   {:<24} {:>10} {:>10}   {:>6.2f} {:>6.2f} {:>6.2f}\n", pair.limit,
             duration(quantile(limit, 0.1)), duration(quantile(limit, 0.5)), pair.measured,
             duration(quantile(measured, 0.1)), duration(quantile(measured, 0.5)), quantile(ratio, 0.1),
             quantile(ratio, 0.5), quantile(ratio, 0.9));
  std::fflush(stdout);
}

std::string sized(const char* what, std::size_t bytes) {
  return bytes >= (1u << 20) ? fmt::format("{} {} MiB", what, bytes >> 20)
         : bytes >= 1024     ? fmt::format("{} {} KiB", what, bytes >> 10)
                             : fmt::format("{} {} B", what, bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const int npairs = argc > 1 ? std::atoi(argv[1]) : 400;
  const std::string wanted = argc > 2 ? argv[2] : "";
  if (argc > 3 || npairs < 1) {
    std::fprintf(stderr, "usage: limits_bench [pairs of batches, 400 [only names with this text]]\n");
    return 2;
  }
  const auto machine = tutti::bench::describeMachine();
  const auto cpus = tutti::bench::allowedCpus();
  fmt::print("# {}, {} cores, {}, {}\n", machine.cpu, machine.cores, machine.kernel, tutti::bench::dateNow());
  if (cpus.size() < 2) fmt::print("# one core only: two threads share it, and the figures mean nothing\n");
  fmt::print("{:<22} {:>10} {:>10}   {:<24} {:>10} {:>10}   {:^20}\n", "limit", "p10", "median", "measured",
             "p10", "median", "ratio p10 median p90");

  Ranks ranks;  // before this thread is pinned, which the library would take for all the cores there are
  pinTo(cpus[0]);
  std::vector<Pair> pairs;
  for (std::size_t bytes : {8, 512})
    pairs.push_back({"flag exchange", sized("lines", bytes), 1000, npairs, exchangeFlags,
                     [handOver = std::make_shared<HandOver>(tutti::MailboxFormat::lines, bytes)](
                         int rank, int n) { (*handOver)(rank, n); }});
  for (std::size_t bytes : {8, 512})
    pairs.push_back({"flag exchange", sized("slots", bytes), 1000, npairs, exchangeFlags,
                     [handOver = std::make_shared<HandOver>(tutti::MailboxFormat::slots, bytes)](
                         int rank, int n) { (*handOver)(rank, n); }});
  pairs.push_back({"flag exchange", "barrier", 1000, npairs, exchangeFlags, ranks.barrier()});
  for (std::size_t bytes : {8, 64, 512, 2048})
    pairs.push_back({"flag exchange", sized("all-reduce", bytes), 1000, npairs, exchangeFlags,
                     ranks.allReduce(bytes, false)});
  for (bool registered : {true, false}) {
    for (std::size_t bytes = 4096; bytes <= Ranks::kMost; bytes *= 8) {
      const int iterations = static_cast<int>(std::clamp<std::size_t>((1u << 23) / bytes, 1, 1000));
      pairs.push_back({sized("two copies", bytes), sized(registered ? "registered" : "all-reduce", bytes),
                       iterations, bytes >= (16u << 20) ? std::min(npairs, 15) : npairs / 4 + 1,
                       ranks.copies(bytes), ranks.allReduce(bytes, registered)});
    }
  }
  for (const Pair& pair : pairs) {
    if (pair.measured.find(wanted) != std::string::npos) measure(pair, npairs, cpus);
  }
  return 0;
}
