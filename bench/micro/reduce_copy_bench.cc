// How fast reduceCopy adds, beside a plain copy of as many bytes. bytes_per_second counts what is read and
// written: count * size * (sources + destinations). Names: type/operation/sources/destinations/bytes of one
// operand/streaming.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/float_environment.h"
#include "kernels/reduce_copy.h"

namespace tutti {
namespace {

// Memory with every page present. What it holds are ordinary numbers of every type.
class Operand {
 public:
  explicit Operand(std::size_t bytes) : bytes_(bytes + 4096) {
    data_ = static_cast<unsigned char*>(
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(data_, bytes_, MADV_HUGEPAGE);
    for (std::size_t i = 0; i < bytes_; ++i) data_[i] = static_cast<unsigned char>(0x38 + i % 8);
  }
  Operand(Operand&& other) : data_(other.data_), bytes_(other.bytes_) { other.data_ = nullptr; }
  Operand(const Operand&) = delete;
  Operand& operator=(const Operand&) = delete;
  ~Operand() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }
  unsigned char* data() const { return data_; }

 private:
  unsigned char* data_;
  std::size_t bytes_;
};

struct Case {
  DataType type;
  Operation operation;
  int nsources, ndestinations;
  std::size_t bytes;
  bool streaming = false;
};

void reduceCopyBench(benchmark::State& state, Case what) {
  std::vector<Operand> operands;
  std::vector<Source> sources;
  std::vector<Destination> destinations;
  for (int k = 0; k < what.nsources; ++k) {
    operands.emplace_back(what.bytes);
    sources.push_back({operands.back().data() + 128 * (k + 1), Form::raw});
  }
  for (int k = 0; k < what.ndestinations; ++k) {
    operands.emplace_back(what.bytes);
    const Form form = what.nsources == 1 ? Form::raw : Form::result;
    destinations.push_back({operands.back().data(), form, what.streaming});
  }
  const Reduction reduction{what.type, what.operation, static_cast<std::uint32_t>(what.nsources)};
  const ReduceCopyFunction run = reduceCopyFor(what.type, what.operation);
  const FloatEnvironment environment;
  for (auto _ : state) {
    run(reduction, sources.data(), what.nsources, destinations.data(), what.ndestinations,
        what.bytes / bytesOf(what.type));
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(
      state.iterations() * what.bytes * static_cast<std::size_t>(what.nsources + what.ndestinations)));
}

void memcpyBench(benchmark::State& state, std::size_t bytes) {
  const Operand from(bytes), to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data() + 128, bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes * 2));
}

void environmentBench(benchmark::State& state) {
  for (auto _ : state) {
    const FloatEnvironment environment;
    benchmark::ClobberMemory();
  }
}

void add(Case what) {
  const std::string name = std::string(nameOf(what.type)) + "/" +
                           (what.nsources == 1 ? "copy" : nameOf(what.operation)) + "/" +
                           std::to_string(what.nsources) + "/" + std::to_string(what.ndestinations) + "/" +
                           std::to_string(what.bytes) + (what.streaming ? "/streaming" : "");
  benchmark::RegisterBenchmark(name.c_str(),
                               [what](benchmark::State& state) { reduceCopyBench(state, what); });
}

void addAll() {
  constexpr std::size_t kL1 = 8 << 10, kL2 = 128 << 10, kMemory = 64 << 20;
  benchmark::RegisterBenchmark("float_environment", environmentBench);
  for (std::size_t bytes : {std::size_t{8}, std::size_t{64}, kL1, kL2, kMemory}) {
    benchmark::RegisterBenchmark(("memcpy/" + std::to_string(bytes)).c_str(),
                                 [bytes](benchmark::State& state) { memcpyBench(state, bytes); });
    add({DataType::f32, Operation::sum, 1, 1, bytes});
    for (DataType type : {DataType::f32, DataType::f64, DataType::f16, DataType::bf16, DataType::f8e4m3,
                          DataType::f8e5m2, DataType::i8, DataType::i64}) {
      add({type, Operation::sum, 2, 1, bytes});
    }
  }
  for (std::size_t bytes : {kL1, kMemory}) {
    for (DataType type : {DataType::f32, DataType::f16, DataType::i8, DataType::i32, DataType::i64}) {
      add({type, Operation::avg, 2, 1, bytes});
      add({type, Operation::max, 2, 1, bytes});
      add({type, Operation::prod, 2, 1, bytes});
    }
  }
  add({DataType::f32, Operation::sum, 1, 1, kMemory, true});
  add({DataType::f32, Operation::sum, 2, 1, kMemory, true});
  add({DataType::bf16, Operation::sum, 2, 1, kMemory, true});
  for (int nsources : {4, 8, 16}) {
    for (std::size_t bytes : {kL1 / 4, kMemory / 4}) {
      add({DataType::f32, Operation::sum, nsources, 1, bytes});
      add({DataType::bf16, Operation::sum, nsources, 1, bytes});
    }
  }
  add({DataType::f32, Operation::sum, 1, 3, kMemory});
  add({DataType::f32, Operation::sum, 2, 3, kMemory});
}

}  // namespace
}  // namespace tutti

int main(int argc, char** argv) {
  tutti::addAll();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
