// Every algorithm of the cooperative form, and reduceCopy of all types and operations against the host's bits, with
// few sizes: whether anything is wrong at all. And one call that cannot end, which the deadline has to end.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/reduce_copy.h"
#include "kernels/reduce_copy.h"
#include "tests/gpu/device.h"
#include "tests/gpu/difference.h"
#include "tests/gpu/finite_bytes.h"
#include "tests/gpu/stages.h"
#include "tests/gpu/virtual_communicator.h"

namespace tutti::cuda {
namespace {

// Operands of reduceCopy.
struct Shape {
  int nsources;
  int ndestinations;
  Form to = Form::result;
  Form from = Form::raw;
};

struct Size {
  int nranks;
  std::vector<std::uint64_t> counts;
  std::vector<Shape> shapes;
  std::vector<DataType> types;
  BlockSize block;             // of the cooperative form
  std::uint64_t hangNs;        // the patience of lanes that are to hang
  double mostHangSeconds = 1;  // until they have ended
};

// Every collective, and as words too where they may carry it.
std::vector<PlacedCall> placeAll(VirtualCommunicator& communicator, const Size& size, Algorithm algorithm) {
  std::vector<PlacedCall> calls;
  for (int c = 0; c < kCollectives; ++c) {
    VirtualCall call{static_cast<Collective>(c), algorithm, 0};
    call.root = isRooted(call.collective) ? size.nranks - 1 : 0;
    call.exact = true;
    for (std::uint64_t count : size.counts) {
      call.count = count;
      for (MailboxFormat format : {MailboxFormat::slots, MailboxFormat::words}) {
        call.format = format;
        if (!communicator.serves(call)) continue;
        // On windows after the exchange of their places, as a call does it.
        if (algorithm == Algorithm::twoShotWindow)
          calls.push_back(communicator.place({Collective::barrier, Algorithm::oneShot, 0}));
        calls.push_back(communicator.place(call));
      }
    }
  }
  return calls;
}

// Every collective by one algorithm, launch after launch on the same links.
void runCollectives(Report& report, const Size& size, Algorithm algorithm) {
  const auto memory = DeviceArena::make(report, std::size_t{64} << 20);
  if (memory == nullptr) return;
  VirtualCommunicator communicator(memory->arena(), size.nranks, 4, 4096);
  const std::vector<PlacedCall> calls = placeAll(communicator, size, algorithm);
  const std::size_t before = report.nfaults();
  std::size_t nlaunched = 0;
  std::size_t nwords = 0;
  bool ran = memory->upload();
  bool done = true;
  // One that met its deadline is the last: those after it would only wait for theirs.
  while (ran && done && nlaunched < calls.size()) {
    const PlacedCall& placed = calls[nlaunched++];
    nwords += placed.call.format == MailboxFormat::words ? 1 : 0;
    const std::string what = describe(placed.call);
    ran = launched(report, launchVirtualRanks(launchOf(placed, size.block), nullptr), what) &&
          succeeds(report, cudaDeviceSynchronize(), what) && memory->download();
    done = ran && isDone(placed);
  }
  if (ran) {
    for (std::size_t i = 0; i < nlaunched; ++i) {
      for (const std::string& fault : communicator.faultsOf(calls[i])) report.fault(fault);
      if (!isDone(calls[i])) continue;
      for (const std::string& fault : communicator.faultsOfExact(calls[i])) report.fault(fault);
    }
    const std::string what = std::string(nameOf(algorithm)) + ": ";
    for (const std::string& fault : communicator.faultsOfLinks()) report.fault(what + fault);
    if (!memory->arena().areGuardsUntouched()) report.fault(what + "bytes between the buffers were written");
  }
  report.row({nameOf(algorithm), size.nranks, nlaunched, nwords, report.nfaults() - before});
}

// The lanes of a call that cannot end, on links of its own. Whether the deadline ended it, and as a hang.
bool endsHang(Report& report, const Size& size, MailboxFormat format) {
  const auto memory = DeviceArena::make(report, std::size_t{4} << 20);
  if (memory == nullptr) return false;
  VirtualCommunicator communicator(memory->arena(), size.nranks, 4, 4096);
  VirtualCall call{Collective::allReduce, Algorithm::oneShot, 100};
  call.format = format;
  const PlacedCall placed = communicator.place(call);
  placed.calls[size.nranks - 1].tag ^= 0x5a5a;  // another call than its peers make
  const std::string what = "a hang: " + describe(call);
  const BlockSize block{size.block.nthreads, size.hangNs};
  if (!memory->upload()) return false;
  const auto begin = std::chrono::steady_clock::now();
  if (!launched(report, launchVirtualRanks(launchOf(placed, block), nullptr), what) ||
      !succeeds(report, cudaDeviceSynchronize(), what))
    return false;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (!memory->download()) return false;
  const std::size_t before = report.nfaults();
  int ndone = 0;
  int nsuspicious = 0;
  for (std::size_t i = 0; i < placed.hasLane.size(); ++i) {
    if (!placed.hasLane[i]) continue;
    ndone += placed.outcomes[i].done ? 1 : 0;
    nsuspicious += placed.outcomes[i].suspicious ? 1 : 0;
  }
  if (ndone != 0) report.fault(fmt::format("{}: {} lanes say that they are done", what, ndone));
  if (nsuspicious == 0) report.fault(what + ": no lane met a message of another call");
  if (seconds.count() >= size.mostHangSeconds)
    report.fault(fmt::format("{}: it took {:.3f} s, with a patience of {} ms", what, seconds.count(),
                             size.hangNs / 1'000'000));
  if (!memory->arena().areGuardsUntouched()) report.fault(what + ": bytes between the buffers were written");
  return report.nfaults() == before;
}

void runHangs(Report& report, const Size& size) {
  bool ended = true;
  for (MailboxFormat format : {MailboxFormat::slots, MailboxFormat::words})
    ended = endsHang(report, size, format) && ended;
  report.fact("a hang is ended by the deadline", ended ? "yes" : "no");
}

// How far operands lie behind a multiple of 128, in elements of their own: every other source, and all others, which
// lie some bytes further.
struct Skew {
  std::size_t evenElements;
  std::size_t elements;
  std::size_t bytes;
};

struct ReduceCopyCase {
  DataType type;
  Operation operation;
  std::uint64_t count;
  Shape shape;
  Skew skew;
};

const char* nameOf(Form form) {
  return form == Form::raw ? "raw" : form == Form::partial ? "partial" : "result";
}

// The kernel of its own, against the host's.
void runReduceCopy(Report& report, const ReduceCopyCase& c, std::mt19937_64& random) {
  const std::size_t sourceSize = bytesOf(c.type, c.operation, c.shape.from);
  const std::size_t size = bytesOf(c.type, c.operation, c.shape.to);  // of a destination
  const std::size_t sourceBytes = c.count * sourceSize;
  const std::size_t bytes = c.count * size;
  const auto noperands = static_cast<unsigned>(c.shape.nsources + c.shape.ndestinations);
  const std::string what = fmt::format(
      "reduceCopy {} {}, {} elements, {} {} to {} {}, off by {} and {} elements and {} bytes", nameOf(c.type),
      nameOf(c.operation), c.count, c.shape.nsources, nameOf(c.shape.from), c.shape.ndestinations,
      nameOf(c.shape.to), c.skew.evenElements, c.skew.elements, c.skew.bytes);
  const auto memory = DeviceArena::make(report, noperands * (std::max(bytes, sourceBytes) + 512) + 512);
  if (memory == nullptr) return;
  Arena& arena = memory->arena();
  ReduceCopyCall call{};
  call.reduction = {c.type, c.operation, 3};
  call.count = c.count;
  call.nsources = c.shape.nsources;
  call.ndestinations = c.shape.ndestinations;
  std::vector<Source> sources;
  std::vector<std::vector<std::byte>> sent;
  for (int k = 0; k < call.nsources; ++k) {
    const auto source =
        arena.place<std::byte>(sourceBytes, k % 2 == 0 ? c.skew.evenElements * sourceSize
                                                       : c.skew.elements * sourceSize + c.skew.bytes);
    fillFinite(random, source.host, sourceBytes, sourceSize);
    sources.push_back({source.host, c.shape.from});
    sent.emplace_back(source.host, source.host + sourceBytes);
    call.sources[k] = {source.device, c.shape.from};
  }
  std::vector<std::byte> expected(bytes);
  std::vector<const std::byte*> got;
  for (int k = 0; k < call.ndestinations; ++k) {
    const auto destination = arena.place<std::byte>(bytes, c.skew.elements * size + c.skew.bytes);
    got.push_back(destination.host);
    call.destinations[k] = {destination.device, c.shape.to};
  }
  const Destination golden{expected.data(), c.shape.to};
  tutti::reduceCopy(call.reduction, sources.data(), call.nsources, &golden, 1, c.count);
  if (!memory->upload() || !launched(report, launchReduceCopy(call, 0, nullptr), what) ||
      !succeeds(report, cudaDeviceSynchronize(), what) || !memory->download())
    return;
  for (std::size_t k = 0; k < got.size(); ++k) {
    const std::string difference = differenceOf(got[k], expected.data(), bytes, size);
    if (!difference.empty()) report.fault(fmt::format("{}: destination {}: {}", what, k, difference));
  }
  for (std::size_t k = 0; k < sent.size(); ++k) {
    const auto* source = static_cast<const std::byte*>(sources[k].data);
    const std::string difference = differenceOf(source, sent[k].data(), sourceBytes, sourceSize);
    if (!difference.empty()) report.fault(fmt::format("{}: source {} was written: {}", what, k, difference));
  }
  if (!arena.areGuardsUntouched()) report.fault(what + ": bytes between the buffers were written");
}

// Every access that the kernel has: all operands on multiples of 16 bytes, all with the same head before one, askew to
// each other by an element and by a byte.
int runReduceCopies(Report& report, const Size& size, DataType type) {
  constexpr Skew kSkews[] = {{0, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}};
  std::mt19937_64 random(static_cast<unsigned>(type));
  int launches = 0;
  for (int o = 0; o < kOperations; ++o) {
    const auto operation = static_cast<Operation>(o);
    for (std::uint64_t count : size.counts) {
      for (const Shape& shape : size.shapes) {
        for (const Skew& skew : kSkews) {
          runReduceCopy(report, {type, operation, count, shape, skew}, random);
          ++launches;
        }
      }
    }
  }
  return launches;
}

void run(Report& report, const Size& size) {
  report.table("Collectives", {"algorithm", "ranks", "calls", "as words", "faults"});
  for (int a = 0; a < kAlgorithms; ++a) {
    const auto algorithm = static_cast<Algorithm>(a);
    if (algorithm != Algorithm::none) runCollectives(report, size, algorithm);
  }
  runHangs(report, size);
  report.table("reduceCopy against the host", {"type", "launches", "faults"});
  for (DataType type : size.types) {
    const std::size_t before = report.nfaults();
    const int launches = runReduceCopies(report, size, type);
    report.row({nameOf(type), launches, report.nfaults() - before});
  }
}

}  // namespace

void smoke(Report& report) {
  std::vector<DataType> types;
  for (int type = 0; type < kDataTypes; ++type) types.push_back(static_cast<DataType>(type));
  const std::vector<Shape> shapes = {{1, 1},
                                     {2, 2},
                                     {8, 8},
                                     {8, 1},
                                     {1, 8},
                                     {1, 8, Form::raw},
                                     {2, 1, Form::partial},
                                     {2, 1, Form::result, Form::partial},
                                     {8, 8, Form::partial, Form::partial}};
  run(report, {4, {1, 7, 1023, 65539}, shapes, types, {}, 20'000'000});
}

void smokeSmall(Report& report) {
  const std::vector<Shape> shapes = {
      {3, 3}, {8, 1}, {1, 8}, {1, 8, Form::raw}, {2, 1, Form::partial}, {2, 1, Form::result, Form::partial}};
  run(report, {2,
               {1, 1023},
               shapes,
               {DataType::i64, DataType::f32, DataType::bf16},
               kSanitizedBlock,
               200'000'000,
               3});
}

}  // namespace tutti::cuda
