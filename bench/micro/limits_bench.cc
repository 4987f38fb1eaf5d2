// What the machine itself allows, beside what the library makes of it, in one run with two threads: the raw
// exchange of a flag beside an 8-byte all-reduce and the hand-over of messages on each kind of link; two
// threads copying memory beside a large all-reduce. Compare ratios within a run; on a busy machine neither
// side means anything.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "base/memory_order.h"
#include "collectives/host_context.h"
#include "transport/inprocess/links.h"
#include "tutti/tutti.h"

namespace {

struct alignas(128) Flag {
  std::uint64_t value = 0;
};

// Both threads store and wait for the other's: the least time in which two ranks can hear from each other.
void flagExchange(benchmark::State& state) {
  static std::array<Flag, 2> flags;
  Flag& mine = flags[static_cast<std::size_t>(state.thread_index())];
  const Flag& other = flags[static_cast<std::size_t>(1 - state.thread_index())];
  std::uint64_t count = mine.value;
  for (auto _ : state) {
    tutti::storeRelease(&mine.value, ++count);
    while (tutti::loadAcquire(&other.value) < count) {
    }
  }
}
BENCHMARK(flagExchange)->Threads(2)->UseRealTime();

// A message each way, by the protocol code that schedules use, without the rest.
void exchange(benchmark::State& state, tutti::MailboxFormat format) {
  static tutti::InProcessHub hub({});
  const int me = state.thread_index();
  tutti::MailboxEnd& out = *hub.open(me, 1 - me, 0, format, true).value();
  tutti::MailboxEnd& in = *hub.open(1 - me, me, 0, format, false).value();
  const auto bytes = static_cast<std::uint64_t>(state.range(0));
  std::vector<std::byte> buffer(bytes);
  tutti::HostContext context;
  constexpr std::uint32_t kTag = 1;
  for (auto _ : state) {
    if (format == tutti::MailboxFormat::lines) {
      tutti::fillLines(context, out, buffer.data(), bytes, kTag);
      tutti::countMessage(out, bytes);
      while (!tutti::takeLines(context, in, buffer.data(), bytes, kTag)) {
      }
    } else {
      while (!tutti::slotFree(context, out)) {
      }
      std::memcpy(out.slots + out.slot * out.slotBytes, buffer.data(), bytes);
      tutti::postSlot(context, out, bytes, kTag);
      tutti::countMessage(out, bytes);
      while (!tutti::slotArrived(context, in, bytes, kTag)) {
      }
      std::memcpy(buffer.data(), in.slots + in.slot * in.slotBytes, bytes);
      tutti::giveSlotBack(context, in);
    }
    tutti::countMessage(in, bytes);
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
void exchangeLines(benchmark::State& state) {
  exchange(state, tutti::MailboxFormat::lines);
}
void exchangeSlots(benchmark::State& state) {
  exchange(state, tutti::MailboxFormat::slots);
}
BENCHMARK(exchangeLines)->Arg(8)->Arg(512)->Arg(4096)->Threads(2)->UseRealTime();
BENCHMARK(exchangeSlots)->Arg(8)->Arg(512)->Arg(4096)->Arg(65536)->Threads(2)->UseRealTime();

constexpr std::size_t kMost = 128u << 20;

// Two ranks with registered and with plain memory, made once.
struct Ranks {
  std::array<tuttiComm_t, 2> plain;
  std::array<tuttiComm_t, 2> registered;
  std::array<void*, 2> input;
  std::array<void*, 2> output;

  Ranks() {
    bool ok = tuttiCommInitAll(plain.data(), 2, nullptr) == tuttiSuccess &&
              tuttiCommInitAll(registered.data(), 2, nullptr) == tuttiSuccess;
    for (std::size_t r = 0; r < 2 && ok; ++r) {
      void* handle = nullptr;
      ok = tuttiMemAlloc(&input[r], kMost, TUTTI_DEVICE_HOST) == tuttiSuccess &&
           tuttiMemAlloc(&output[r], kMost, TUTTI_DEVICE_HOST) == tuttiSuccess &&
           tuttiCommRegister(registered[r], input[r], kMost, &handle) == tuttiSuccess &&
           tuttiCommRegister(registered[r], output[r], kMost, &handle) == tuttiSuccess;
      if (!ok) break;
      std::memset(input[r], 0, kMost);
      std::memset(output[r], 0, kMost);
    }
    if (!ok) {
      std::fprintf(stderr, "limits_bench: %s\n", tuttiGetLastError(nullptr));
      std::exit(1);
    }
  }
};

Ranks& ranks() {
  static Ranks ranks;
  return ranks;
}

void allReduce(benchmark::State& state, const std::array<tuttiComm_t, 2>& comms) {
  const auto me = static_cast<std::size_t>(state.thread_index());
  const auto count = static_cast<std::size_t>(state.range(0)) / sizeof(float);
  for (auto _ : state) {
    if (tuttiAllReduce(ranks().input[me], ranks().output[me], count, tuttiFloat32, tuttiSum, comms[me],
                       nullptr) != tuttiSuccess) {
      state.SkipWithError(tuttiGetLastError(nullptr));
      break;
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}
void allReducePlain(benchmark::State& state) {
  allReduce(state, ranks().plain);
}
void allReduceRegistered(benchmark::State& state) {
  allReduce(state, ranks().registered);
}

// Each thread copies as many bytes as a rank of a registered all-reduce reads and writes.
void twoCopies(benchmark::State& state) {
  const auto me = static_cast<std::size_t>(state.thread_index());
  for (auto _ : state) {
    std::memcpy(ranks().output[me], ranks().input[me], static_cast<std::size_t>(state.range(0)));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * state.range(0));
}

BENCHMARK(allReducePlain)->Arg(8)->Arg(512)->Threads(2)->UseRealTime();
BENCHMARK(twoCopies)->RangeMultiplier(8)->Range(4096, kMost)->Threads(2)->UseRealTime();
BENCHMARK(allReduceRegistered)->RangeMultiplier(8)->Range(4096, kMost)->Threads(2)->UseRealTime();
BENCHMARK(allReducePlain)->RangeMultiplier(8)->Range(4096, kMost)->Threads(2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
