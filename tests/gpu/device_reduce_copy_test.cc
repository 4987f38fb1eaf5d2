// The device's reduceCopy, run by the host: threads one after the other do what the reference says, bit for bit
// (a computed NaN only in being one), for all types, operations and forms, whatever the places of the operands,
// and touch nothing else. An access that a GPU could not do (askew) is a trap here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/float_environment.h"
#include "tests/gpu/device_functions.h"

namespace tutti::cuda {
namespace {

using Random = std::mt19937_64;

constexpr std::size_t kGuard = 64;
constexpr std::byte kKnown{0xa7};

// An operand `slack` bytes behind a boundary of 16, with known bytes around it.
class OperandMemory {
 public:
  OperandMemory(std::size_t bytes, std::size_t slack)
      : bytes_(bytes), memory_(bytes + 2 * kGuard + 32, kKnown) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuard;
    offset_ = kGuard + (16 - begin % 16) % 16 + slack;
  }
  std::byte* data() { return memory_.data() + offset_; }
  std::size_t bytes() const { return bytes_; }
  bool isSurroundingUntouched() const {
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      if ((i < offset_ || i >= offset_ + bytes_) && memory_[i] != kKnown) return false;
    }
    return true;
  }

 private:
  std::size_t bytes_;
  std::size_t offset_ = 0;
  std::vector<std::byte> memory_;
};

template <DataType type>
bool isNan(const std::byte* element, bool partial) {
  if constexpr (!kIsFloat<type>) {
    return false;
  } else {
    using Accumulator = typename AccumulatorOf<type, Operation::sum>::Type;
    const Accumulator value =
        partial ? loadElement<Accumulator>(element, 0)
                : widenElement<type, Operation::sum>(loadElement<typename StorageOf<type>::Type>(element, 0));
    return std::isnan(value);
  }
}

enum class Places { aligned, alike, byElement, anywhere };

template <DataType type, Operation operation>
void compare(Random& random, DeviceReduceCopy function, std::size_t count, int nsources, int ndestinations,
             Places places) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto sizeOf = [](Form form) { return bytesOf(type, operation, form); };
  const std::size_t alike = below(16 / bytesOf(type));  // elements
  const auto slackOf = [&](Form form) -> std::size_t {
    switch (places) {
      case Places::aligned:
        return 0;
      case Places::alike:
        return alike * sizeOf(form) % 16;
      case Places::byElement:
        return below(16 / sizeOf(form)) * sizeOf(form);
      case Places::anywhere:
        break;
    }
    return below(16);
  };
  Form only = static_cast<Form>(below(3));
  const bool copies = nsources == 1 && below(2) == 0;
  std::vector<OperandMemory> memories;
  std::vector<Source> sources;
  std::vector<Destination> destinations, expected;
  memories.reserve(static_cast<std::size_t>(nsources + 2 * ndestinations));
  for (int k = 0; k < nsources; ++k) {
    const Form form = copies ? only : static_cast<Form>(below(4) == 0 ? 1 : below(3));
    OperandMemory& memory = memories.emplace_back(count * sizeOf(form), slackOf(form));
    for (std::size_t i = 0; i < memory.bytes(); ++i) memory.data()[i] = static_cast<std::byte>(random());
    if (below(2) == 0) {  // floats of moderate size, so that not every sum is an extreme
      for (std::size_t i = sizeOf(form) - 1; i < memory.bytes(); i += sizeOf(form))
        memory.data()[i] = static_cast<std::byte>(0x3c + below(6) + below(2) * 0x80);
    }
    sources.push_back({memory.data(), form});
  }
  int inPlace = -1;
  for (int k = 0; k < ndestinations; ++k) {
    const Form form = copies ? only : below(2) == 0 ? Form::partial : Form::result;
    expected.push_back({memories.emplace_back(count * sizeOf(form), below(16)).data(), form});
    const int same = static_cast<int>(below(static_cast<unsigned>(nsources)));
    if (inPlace < 0 && below(3) == 0 &&
        sizeOf(sources[static_cast<std::size_t>(same)].form) == sizeOf(form)) {
      inPlace = same;
      destinations.push_back({const_cast<void*>(sources[static_cast<std::size_t>(same)].data), form});
    } else {
      destinations.push_back({memories.emplace_back(count * sizeOf(form), slackOf(form)).data(), form});
    }
  }
  const std::uint32_t ranks[] = {1, 2, 3, 8, 1000, 0xffffffff};
  const Reduction reduction{type, operation, ranks[below(6)]};
  reduceCopyReference(reduction, sources.data(), nsources, expected.data(), ndestinations, 0, count, 1);
  const std::uint64_t nthreads = std::uint64_t{1} << below(6);
  for (std::uint64_t tid = 0; tid < nthreads; ++tid)
    function(reduction, sources.data(), nsources, destinations.data(), ndestinations, count, {tid, nthreads});
  const std::string what = std::string(nameOf(type)) + " " + nameOf(operation) + " " + std::to_string(count) +
                           " elements, " + std::to_string(nsources) + " to " + std::to_string(ndestinations) +
                           ", places " + std::to_string(static_cast<int>(places));
  for (const OperandMemory& memory : memories) ASSERT_TRUE(memory.isSurroundingUntouched()) << what;
  for (std::size_t k = 0; k < destinations.size(); ++k) {
    const std::size_t size = sizeOf(destinations[k].form);
    const bool partial = destinations[k].form == Form::partial;
    for (std::size_t i = 0; i < count; ++i) {
      const auto* got = static_cast<const std::byte*>(destinations[k].data) + i * size;
      const auto* want = static_cast<const std::byte*>(expected[k].data) + i * size;
      if (std::memcmp(got, want, size) == 0) continue;
      ASSERT_TRUE(!copies && isNan<type>(got, partial) && isNan<type>(want, partial))
          << what << ", destination " << k << " element " << i;
    }
  }
}

template <DataType type, Operation operation>
void compareMany(DeviceReduceCopy function) {
  const FloatEnvironment environment;
  Random random(static_cast<unsigned>(type) * 8 + static_cast<unsigned>(operation));
  for (std::size_t count : {0, 1, 2, 7, 15, 16, 17, 31, 64, 65, 127, 511, 1023}) {
    for (int nsources : {1, 2, 3, 4, 8}) {
      for (int ndestinations : {1, 2, 8}) {
        for (Places places : {Places::aligned, Places::alike, Places::byElement, Places::anywhere}) {
          compare<type, operation>(random, function, count, nsources, ndestinations, places);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

template <DataType type>
void compareOperations(DeviceReduceCopy (*functionOf)(DataType, Operation)) {
  compareMany<type, Operation::sum>(functionOf(type, Operation::sum));
  compareMany<type, Operation::prod>(functionOf(type, Operation::prod));
  compareMany<type, Operation::max>(functionOf(type, Operation::max));
  compareMany<type, Operation::min>(functionOf(type, Operation::min));
  compareMany<type, Operation::avg>(functionOf(type, Operation::avg));
}

template <DataType type>
void compareBoth() {
  compareOperations<type>(deviceReduceCopyOf);
  compareOperations<type>(deviceReduceCopyStagedOf);
}

TEST(DeviceReduceCopy, I8) {
  compareBoth<DataType::i8>();
}
TEST(DeviceReduceCopy, U8) {
  compareBoth<DataType::u8>();
}
TEST(DeviceReduceCopy, I32) {
  compareBoth<DataType::i32>();
}
TEST(DeviceReduceCopy, U32) {
  compareBoth<DataType::u32>();
}
TEST(DeviceReduceCopy, I64) {
  compareBoth<DataType::i64>();
}
TEST(DeviceReduceCopy, U64) {
  compareBoth<DataType::u64>();
}
TEST(DeviceReduceCopy, F16) {
  compareBoth<DataType::f16>();
}
TEST(DeviceReduceCopy, F32) {
  compareBoth<DataType::f32>();
}
TEST(DeviceReduceCopy, F64) {
  compareBoth<DataType::f64>();
}
TEST(DeviceReduceCopy, Bf16) {
  compareBoth<DataType::bf16>();
}
TEST(DeviceReduceCopy, F8e4m3) {
  compareBoth<DataType::f8e4m3>();
}
TEST(DeviceReduceCopy, F8e5m2) {
  compareBoth<DataType::f8e5m2>();
}

}  // namespace
}  // namespace tutti::cuda
