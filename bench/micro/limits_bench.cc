// What the machine itself allows, beside what the library makes of it: the exchange of a flag beside small
// calls and hand-overs of messages, two threads copying memory beside large calls. Two pinned threads; pairs.h says how.
//
//   limits_bench [pairs of batches [what]]     only the pairs with that text in their name
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/memory_order.h"
#include "collectives/host_context.h"
#include "common/machine.h"
#include "pairs.h"
#include "transport/inprocess/links.h"
#include "tutti/tutti.h"

namespace {

using tutti::bench::Batch;
using tutti::bench::sized;

alignas(128) std::array<std::byte, tutti::bench::FlagExchange::kBytes> flagMemory{};
const tutti::bench::FlagExchange exchangeFlags(flagMemory.data());

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

void measure(const tutti::bench::Pair& pair, const std::vector<int>& cpus) {
  std::thread other([&] {
    if (cpus.size() > 1) tutti::bench::pinTo(cpus[1]);
    tutti::bench::play(pair, 1, exchangeFlags);
  });
  tutti::bench::play(pair, 0, exchangeFlags);
  other.join();
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
  tutti::bench::printHeader("limit");

  Ranks ranks;  // before this thread is pinned, which the library would take for all the cores there are
  tutti::bench::pinTo(cpus[0]);
  std::vector<tutti::bench::Pair> pairs;
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
      pairs.push_back({sized("two copies", bytes), sized(registered ? "registered" : "all-reduce", bytes),
                       tutti::bench::iterationsFor(bytes),
                       bytes >= (16u << 20) ? std::min(npairs, 15) : npairs / 4 + 1, ranks.copies(bytes),
                       ranks.allReduce(bytes, registered)});
    }
  }
  for (const tutti::bench::Pair& pair : pairs) {
    if (pair.measured.find(wanted) != std::string::npos) measure(pair, cpus);
  }
  return 0;
}
