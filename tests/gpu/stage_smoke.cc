// Every algorithm of the cooperative form, and reduceCopy of all types and operations against the host's bits, with
// few sizes: whether anything is wrong at all.
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/reduce_copy.h"
#include "kernels/reduce_copy.h"
#include "tests/gpu/device.h"
#include "tests/gpu/finite_bytes.h"
#include "tests/gpu/stages.h"
#include "tests/gpu/virtual_communicator.h"

namespace tutti::cuda {
namespace {

struct Size {
  int nranks;
  std::vector<std::uint64_t> counts;
  std::vector<int> noperands;
  std::vector<DataType> types;
  BlockSize block;  // of the cooperative form
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
    for (const std::string& fault : communicator.faultsOfLinks()) report.fault(fault);
    if (!memory->arena().areGuardsUntouched())
      report.fault(std::string(nameOf(algorithm)) + ": bytes between the buffers were written");
  }
  report.row({nameOf(algorithm), size.nranks, nlaunched, nwords, report.nfaults() - before});
}

struct ReduceCopyCase {
  DataType type;
  Operation operation;
  std::uint64_t count;
  int noperands;
  std::size_t skew;  // of the destinations and of every other source, in elements
};

// The kernel of its own, against the host's.
void runReduceCopy(Report& report, const ReduceCopyCase& c, std::mt19937_64& random) {
  const std::size_t size = bytesOf(c.type);
  const std::size_t bytes = c.count * size;
  const auto noperands = static_cast<std::size_t>(c.noperands);
  const std::string what = std::string("reduceCopy ") + nameOf(c.type) + " " + nameOf(c.operation) + ", " +
                           std::to_string(c.count) + " elements, " + std::to_string(c.noperands) +
                           " operands, askew by " + std::to_string(c.skew);
  const auto memory = DeviceArena::make(report, 2 * noperands * (bytes + 512) + 512);
  if (memory == nullptr) return;
  Arena& arena = memory->arena();
  ReduceCopyCall call{};
  call.reduction = {c.type, c.operation, 3};
  call.count = c.count;
  call.nsources = c.noperands;
  call.ndestinations = c.noperands;
  std::vector<Source> sources;
  std::vector<Destination> expected;
  std::vector<const std::byte*> got;
  std::vector<std::vector<std::byte>> memories(noperands, std::vector<std::byte>(bytes));
  for (std::size_t k = 0; k < noperands; ++k) {
    const auto source = arena.place<std::byte>(bytes, k % 2 == 1 ? c.skew * size : 0);
    const auto destination = arena.place<std::byte>(bytes, c.skew * size);
    fillFinite(random, source.host, bytes, size);
    sources.push_back({source.host, Form::raw});
    expected.push_back({memories[k].data(), Form::result});
    got.push_back(destination.host);
    call.sources[k] = {source.device, Form::raw};
    call.destinations[k] = {destination.device, Form::result};
  }
  tutti::reduceCopy(call.reduction, sources.data(), c.noperands, expected.data(), c.noperands, c.count);
  if (!memory->upload() || !launched(report, launchReduceCopy(call, 0, nullptr), what) ||
      !succeeds(report, cudaDeviceSynchronize(), what) || !memory->download())
    return;
  bool same = true;
  for (std::size_t k = 0; k < noperands; ++k)
    same = same && std::memcmp(got[k], memories[k].data(), bytes) == 0;
  if (!same) report.fault(what + ": other bits than the host's");
  if (!arena.areGuardsUntouched()) report.fault(what + ": bytes between the buffers were written");
}

void run(Report& report, const Size& size) {
  report.table("Collectives", {"algorithm", "ranks", "calls", "as words", "faults"});
  for (int a = 0; a < kAlgorithms; ++a) {
    const auto algorithm = static_cast<Algorithm>(a);
    if (algorithm != Algorithm::none) runCollectives(report, size, algorithm);
  }
  report.table("reduceCopy against the host", {"type", "launches", "faults"});
  for (DataType type : size.types) {
    std::mt19937_64 random(static_cast<unsigned>(type));
    const std::size_t before = report.nfaults();
    int launches = 0;
    for (int operation = 0; operation < kOperations; ++operation) {
      for (std::uint64_t count : size.counts) {
        for (int noperands : size.noperands) {
          for (std::size_t skew : {0, 1}) {
            runReduceCopy(report, {type, static_cast<Operation>(operation), count, noperands, skew}, random);
            ++launches;
          }
        }
      }
    }
    report.row({nameOf(type), launches, report.nfaults() - before});
  }
}

}  // namespace

void smoke(Report& report) {
  std::vector<DataType> types;
  for (int type = 0; type < kDataTypes; ++type) types.push_back(static_cast<DataType>(type));
  run(report, {4, {1, 7, 1023, 65539}, {1, 2, 8}, types, {}});
}

void smokeSmall(Report& report) {
  run(report, {2, {1, 1023}, {1, 3}, {DataType::i64, DataType::f32, DataType::bf16}, kSanitizedBlock});
}

}  // namespace tutti::cuda
