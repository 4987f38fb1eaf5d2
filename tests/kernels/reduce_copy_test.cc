// Every SIMD version of reduceCopy equals the scalar reference bit for bit (a computed NaN only in being
// one), for all types, operations, forms, tail lengths, misalignments and numbers of operands, and touches
// nothing else.
#include "kernels/reduce_copy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/float_environment.h"
#include "kernels/reduce_element.h"
#include "tests/kernels/guarded_buffer.h"

namespace tutti {
namespace {

constexpr int kMaxSources = 9;
constexpr int kMaxDestinations = 4;
constexpr std::size_t kMaxCount = 9000;

using Random = std::mt19937_64;

std::uint64_t below(Random& random, std::uint64_t n) {
  return random() % n;
}

// An element as bits in a type of `size` bytes: half of them anything, half where trouble is.
std::uint64_t randomBits(Random& random, bool isFloatOperand, DataType type, std::size_t size) {
  if (below(random, 2) == 0) return random();
  if (!isFloatOperand) {
    const std::uint64_t top = std::uint64_t{1} << (8 * size - 1);
    const std::uint64_t special[] = {0, 1, ~std::uint64_t{0}, top, top - 1, top + 1, 2, 127};
    return special[below(random, 8)];
  }
  // Sign, exponent and mantissa at their ends, or an ordinary number around 1.
  int mantissaBits = size == 4 ? 23 : size == 8 ? 52 : 0;
  if (size == 2) mantissaBits = type == DataType::f16 ? 10 : 7;
  if (size == 1) mantissaBits = type == DataType::f8e4m3 ? 3 : 2;
  const int exponentBits = static_cast<int>(8 * size) - 1 - mantissaBits;
  const std::uint64_t sign = below(random, 2) << (8 * size - 1);
  const std::uint64_t ones = (std::uint64_t{1} << exponentBits) - 1;
  const std::uint64_t exponents[] = {0, 0, 1, ones, ones - 1, ones / 2, ones / 2 + 1, ones / 2 - 1};
  const std::uint64_t mantissaMask = (std::uint64_t{1} << mantissaBits) - 1;
  const std::uint64_t mantissas[] = {0, 0, 1, mantissaMask, random() & mantissaMask};
  return sign | exponents[below(random, 8)] << mantissaBits | mantissas[below(random, 5)];
}

void fillRandom(Random& random, unsigned char* data, std::size_t count, DataType type, Operation operation,
                Form form) {
  const std::size_t size = bytesOf(type, operation, form);
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char element[16] = {};
    if (size == 16) {
      std::uint64_t low = randomBits(random, false, type, 8);
      std::uint64_t high = randomBits(random, false, type, 8);
      std::memcpy(element, &low, 8);
      std::memcpy(element + 8, &high, 8);
    } else {
      std::uint64_t bits = randomBits(random, isFloat(type), type, size);
      std::memcpy(element, &bits, size);
    }
    std::memcpy(data + i * size, element, size);
  }
}

bool isNan(const unsigned char* element, DataType type, std::size_t size) {
  if (!isFloat(type)) return false;
  if (size == 8) {
    double value;
    std::memcpy(&value, element, 8);
    return std::isnan(value);
  }
  if (size == 4) {
    float value;
    std::memcpy(&value, element, 4);
    return std::isnan(value);
  }
  std::uint16_t code = 0;
  std::memcpy(&code, element, size);
  switch (type) {
    case DataType::f16:
      return (code & 0x7fff) > 0x7c00;
    case DataType::bf16:
      return (code & 0x7fff) > 0x7f80;
    case DataType::f8e4m3:
      return (code & 0x7f) == 0x7f;
    case DataType::f8e5m2:
      return (code & 0x7f) > 0x7c;
    default:
      return false;
  }
}

struct Call {
  DataType type;
  Operation operation;
  std::uint32_t nranks = 1;
  std::size_t count = 0;
  std::vector<Form> sources{}, destinations{};
  std::vector<int> inPlace{};  // for each destination: the source that it is, or -1
  std::vector<bool> streaming{};
  bool atEnd = true;
  std::vector<std::size_t> slack{};  // of sources, then destinations
};

std::string describe(const Call& call, std::string_view target) {
  static const char* const kForms[] = {"raw", "partial", "result"};
  std::string text = std::string(target) + " " + nameOf(call.type) + " " + nameOf(call.operation) +
                     " count=" + std::to_string(call.count) + " nranks=" + std::to_string(call.nranks) +
                     " from";
  for (Form form : call.sources) text += std::string(" ") + kForms[static_cast<int>(form)];
  text += " to";
  for (std::size_t k = 0; k < call.destinations.size(); ++k) {
    text += std::string(" ") + kForms[static_cast<int>(call.destinations[k])];
    if (call.inPlace[k] >= 0) text += "=source" + std::to_string(call.inPlace[k]);
    if (call.streaming[k]) text += "(streaming)";
  }
  return text;
}

class ReduceCopyTest : public ::testing::TestWithParam<DataType> {
 protected:
  ReduceCopyTest() {
    for (int k = 0; k < kMaxSources + kMaxDestinations; ++k) {
      buffers_.push_back(std::make_unique<GuardedBuffer>(kMaxCount * 16 + 128));
    }
    for (std::string_view target : reduceCopyTargets()) {
      if (target != "reference") targets_.push_back(target);
    }
    targets_.push_back("reference");
  }

  // Runs the call with every target and compares. Returns false at the first difference.
  bool check(const Call& call, Random& random) {
    const int nsources = static_cast<int>(call.sources.size());
    const int ndestinations = static_cast<int>(call.destinations.size());
    const Reduction reduction{call.type, call.operation, call.nranks};
    std::vector<std::vector<unsigned char>> inputs, expected;
    std::vector<Source> referenceSources;
    std::vector<Destination> referenceDestinations;
    for (Form form : call.sources) {
      inputs.emplace_back(call.count * bytesOf(call.type, call.operation, form) + 1);
      fillRandom(random, inputs.back().data(), call.count, call.type, call.operation, form);
      referenceSources.push_back({inputs.back().data(), form});
    }
    for (Form form : call.destinations) {
      expected.emplace_back(call.count * bytesOf(call.type, call.operation, form) + 1);
      referenceDestinations.push_back({expected.back().data(), form});
    }
    reduceCopyReference(reduction, referenceSources.data(), nsources, referenceDestinations.data(),
                        ndestinations, 0, call.count, 1);
    const bool copies =
        isBitCopy(referenceSources.data(), nsources, referenceDestinations.data(), ndestinations);

    for (std::string_view target : targets_) {
      std::vector<Source> sources;
      std::vector<Destination> destinations;
      std::size_t used = 0;
      auto place = [&](std::size_t bytes) {
        GuardedBuffer& buffer = *buffers_[used];
        const std::size_t slack = call.slack[used++];
        return call.atEnd ? buffer.placeAtEnd(bytes, slack) : buffer.placeAtBegin(bytes, slack);
      };
      for (int k = 0; k < nsources; ++k) {
        unsigned char* data = place(inputs[k].size() - 1);
        std::memcpy(data, inputs[k].data(), inputs[k].size() - 1);
        sources.push_back({data, call.sources[k]});
      }
      for (int k = 0; k < ndestinations; ++k) {
        unsigned char* data =
            call.inPlace[k] >= 0 ? buffers_[call.inPlace[k]]->data() : place(expected[k].size() - 1);
        destinations.push_back({data, call.destinations[k], call.streaming[k]});
      }
      reduceCopyFor(call.type, call.operation, target)(reduction, sources.data(), nsources,
                                                       destinations.data(), ndestinations, call.count);
      ++calls_;
      for (std::size_t k = 0; k < used; ++k) {
        if (buffers_[k]->isSurroundingUntouched()) continue;
        ADD_FAILURE() << describe(call, target) << ": bytes around operand " << k << " changed";
        return false;
      }
      for (int k = 0; k < nsources; ++k) {
        if (std::count(call.inPlace.begin(), call.inPlace.end(), k) != 0) continue;
        if (std::memcmp(sources[k].data, inputs[k].data(), inputs[k].size() - 1) == 0) continue;
        ADD_FAILURE() << describe(call, target) << ": source " << k << " changed";
        return false;
      }
      for (int k = 0; k < ndestinations; ++k) {
        const std::size_t size = bytesOf(call.type, call.operation, call.destinations[k]);
        const auto* got = static_cast<const unsigned char*>(destinations[k].data);
        for (std::size_t i = 0; i < call.count; ++i) {
          const unsigned char* a = got + i * size;
          const unsigned char* b = expected[k].data() + i * size;
          if (std::memcmp(a, b, size) == 0) continue;
          if (!copies && isNan(a, call.type, size) && isNan(b, call.type, size)) continue;
          std::string hex;
          for (const unsigned char* element : {a, b}) {
            for (std::size_t byte = size; byte-- > 0;) {
              char digits[3];
              std::snprintf(digits, sizeof(digits), "%02x", element[byte]);
              hex += digits;
            }
            hex += element == a ? " instead of " : "";
          }
          ADD_FAILURE() << describe(call, target) << ": destination " << k << " element " << i << ": " << hex;
          return false;
        }
      }
    }
    return true;
  }

  // Random where the caller has not chosen.
  Call randomCall(Random& random, DataType type, Operation operation, std::size_t count, int nsources,
                  int ndestinations) {
    Call call{type, operation};
    const std::uint32_t nranks[] = {1, 2, 3, 7, 8, static_cast<std::uint32_t>(nsources), 1000, 0xffffffff};
    call.nranks = nranks[below(random, 8)];
    call.count = count;
    for (int k = 0; k < nsources; ++k) call.sources.push_back(static_cast<Form>(below(random, 3)));
    for (int k = 0; k < ndestinations; ++k) {
      call.destinations.push_back(below(random, 2) == 0 ? Form::partial : Form::result);
    }
    if (nsources == 1 && below(random, 2) == 0) {  // a copy of bits
      std::fill(call.destinations.begin(), call.destinations.end(), call.sources[0]);
    }
    arrange(random, call);
    return call;
  }

  void arrange(Random& random, Call& call) {
    call.atEnd = below(random, 3) != 0;
    call.slack.clear();
    for (int k = 0; k < kMaxSources + kMaxDestinations; ++k) {
      call.slack.push_back(below(random, 2) == 0 ? 0 : below(random, 65));
    }
    call.inPlace.assign(call.destinations.size(), -1);
    call.streaming.assign(call.destinations.size(), false);
    for (std::size_t k = 0; k < call.destinations.size(); ++k) {
      call.streaming[k] = below(random, 4) == 0;
      const int source = static_cast<int>(below(random, call.sources.size()));
      const bool taken = std::count(call.inPlace.begin(), call.inPlace.end(), source) != 0;
      if (!taken && below(random, 3) == 0 &&
          bytesOf(call.type, call.operation, call.sources[source]) ==
              bytesOf(call.type, call.operation, call.destinations[k])) {
        call.inPlace[k] = source;
      }
    }
  }

  std::vector<std::unique_ptr<GuardedBuffer>> buffers_;
  std::vector<std::string_view> targets_;
  long calls_ = 0;
};

// Lanes of the widest vector: AVX-512 with accumulators of this type.
std::size_t widestLanes(DataType type, Operation operation) {
  return 64 / accumulationBytesOf(type, operation);
}

TEST_P(ReduceCopyTest, EqualsReferenceForAllTailsAndNumbersOfOperands) {
  const DataType type = GetParam();
  const FloatEnvironment environment;
  for (int o = 0; o < kOperations; ++o) {
    const Operation operation = static_cast<Operation>(o);
    Random random(static_cast<std::uint64_t>(o) * 100 + static_cast<std::uint64_t>(type));
    const std::size_t lanes = widestLanes(type, operation);
    std::vector<std::size_t> counts;
    for (std::size_t count = 0; count <= 2 * lanes + 3; ++count) counts.push_back(count);
    for (std::size_t group : {4 * lanes, 5 * lanes, 8 * lanes}) {
      for (std::size_t count : {group - 1, group, group + 1, group + lanes / 2}) counts.push_back(count);
    }
    for (std::size_t count : counts) {
      for (int nsources = 1; nsources <= kMaxSources; ++nsources) {
        for (int ndestinations = 1; ndestinations <= kMaxDestinations; ++ndestinations) {
          if (lanes > 16 && below(random, 3) != 0)
            continue;  // more counts there; a third of the pairs for each
          ASSERT_TRUE(check(randomCall(random, type, operation, count, nsources, ndestinations), random));
        }
      }
    }
  }
}

TEST_P(ReduceCopyTest, EqualsReferenceForAllForms) {
  const DataType type = GetParam();
  const FloatEnvironment environment;
  for (int o = 0; o < kOperations; ++o) {
    const Operation operation = static_cast<Operation>(o);
    Random random(static_cast<std::uint64_t>(o) * 100 + static_cast<std::uint64_t>(type) + 7);
    const std::size_t count = 5 * widestLanes(type, operation) + 3;
    for (int nsources = 1; nsources <= 3; ++nsources) {
      for (int ndestinations = 1; ndestinations <= 3; ++ndestinations) {
        const int fromForms = nsources == 1 ? 3 : nsources == 2 ? 9 : 27;
        for (int from = 0; from < fromForms; ++from) {
          for (int to = 0; to < 1 << ndestinations; ++to) {
            Call call = randomCall(random, type, operation, count, nsources, ndestinations);
            for (int k = 0, rest = from; k < nsources; ++k, rest /= 3)
              call.sources[k] = static_cast<Form>(rest % 3);
            for (int k = 0; k < ndestinations; ++k) {
              call.destinations[k] = (to >> k & 1) != 0 ? Form::partial : Form::result;
            }
            arrange(random, call);
            ASSERT_TRUE(check(call, random));
          }
        }
      }
    }
  }
}

TEST_P(ReduceCopyTest, CopiesBits) {
  const DataType type = GetParam();
  for (int o = 0; o < kOperations; ++o) {
    const Operation operation = static_cast<Operation>(o);
    Random random(static_cast<std::uint64_t>(o) * 100 + static_cast<std::uint64_t>(type) + 8);
    for (Form form : {Form::raw, Form::partial, Form::result}) {
      for (int ndestinations = 0; ndestinations <= kMaxDestinations; ++ndestinations) {
        for (std::size_t count : {0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 1000, 8999}) {
          Call call = randomCall(random, type, operation, count, 1, ndestinations);
          call.sources[0] = form;
          std::fill(call.destinations.begin(), call.destinations.end(), form);
          arrange(random, call);
          ASSERT_TRUE(check(call, random));
        }
      }
    }
  }
}

TEST_P(ReduceCopyTest, StreamingChangesNothing) {
  const DataType type = GetParam();
  const FloatEnvironment environment;
  for (int o = 0; o < kOperations; ++o) {
    const Operation operation = static_cast<Operation>(o);
    Random random(static_cast<std::uint64_t>(o) * 100 + static_cast<std::uint64_t>(type) + 9);
    for (int repeat = 0; repeat < 24; ++repeat) {
      const std::size_t count = kMaxCount - 2000 + below(random, 2000);
      Call call = randomCall(random, type, operation, count, 1 + static_cast<int>(below(random, 3)),
                             1 + static_cast<int>(below(random, 3)));
      call.streaming.assign(call.streaming.size(), true);
      if (repeat % 3 == 0) call.streaming[0] = false;
      if (repeat % 2 == 0) call.slack.assign(call.slack.size(), 64), call.atEnd = false;
      ASSERT_TRUE(check(call, random));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllTypes, ReduceCopyTest,
                         ::testing::Values(DataType::i8, DataType::u8, DataType::i32, DataType::u32,
                                           DataType::i64, DataType::u64, DataType::f16, DataType::f32,
                                           DataType::f64, DataType::bf16, DataType::f8e4m3, DataType::f8e5m2),
                         [](const auto& info) { return nameOf(info.param); });

TEST(ReduceCopyTargets, AreThoseThatRan) {
  std::string names;
  for (std::string_view target : reduceCopyTargets()) {
    names += " " + std::string(target);
    for (int t = 0; t < kDataTypes; ++t) {
      for (int o = 0; o < kOperations; ++o) {
        EXPECT_NE(reduceCopyFor(static_cast<DataType>(t), static_cast<Operation>(o), target), nullptr);
      }
    }
  }
  std::printf("targets that ran:%s\n", names.c_str());
  RecordProperty("targets", names);
  ASSERT_EQ(reduceCopyTargets().back(), "reference");
  EXPECT_EQ(reduceCopyFor(DataType::f32, Operation::sum),
            reduceCopyFor(DataType::f32, Operation::sum, reduceCopyTargets().front()));
  EXPECT_EQ(reduceCopyFor(DataType::f32, Operation::sum, "none"), nullptr);
}

// What a thread of a GPU does: the threads' shares together are the whole.
TEST(ReduceCopyReference, StridedSharesMakeTheWhole) {
  constexpr std::size_t kCount = 101, kThreads = 7;
  Random random(5);
  for (int t = 0; t < kDataTypes; ++t) {
    for (int o = 0; o < kOperations; ++o) {
      const Reduction reduction{static_cast<DataType>(t), static_cast<Operation>(o), 3};
      std::vector<unsigned char> a(kCount * 16), b(kCount * 16), whole(kCount * 16), shares(kCount * 16);
      fillRandom(random, a.data(), kCount, reduction.type, reduction.operation, Form::raw);
      fillRandom(random, b.data(), kCount, reduction.type, reduction.operation, Form::partial);
      const Source sources[] = {{a.data(), Form::raw}, {b.data(), Form::partial}};
      const Destination toWhole{whole.data(), Form::result}, toShares{shares.data(), Form::result};
      reduceCopyReference(reduction, sources, 2, &toWhole, 1, 0, kCount, 1);
      for (std::size_t thread = 0; thread < kThreads; ++thread) {
        reduceCopyReference(reduction, sources, 2, &toShares, 1, thread, kCount, kThreads);
      }
      EXPECT_EQ(whole, shares) << nameOf(reduction.type) << " " << nameOf(reduction.operation);
    }
  }
}

}  // namespace
}  // namespace tutti
