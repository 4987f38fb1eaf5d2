#include "kernels/reduce_copy.h"

#include <atomic>
#include <cassert>

#include "kernels/simd_targets.h"
// Highway after the choice of targets.
#include "hwy/targets.h"
#include "kernels/float_environment.h"
#include "kernels/reduce_copy_versions.h"
#include "kernels/reduce_element.h"

namespace tutti {
namespace {

struct Target {
  std::string_view name;
  std::int64_t bit;
};

constexpr std::string_view kReference = "reference";

// Best first.
constexpr Target kTargets[] = {
#if defined(__x86_64__) && !defined(TUTTI_FEW_TARGETS)
    {"AVX3", HWY_AVX3},
    {"AVX2", HWY_AVX2},
    {"SSE4", HWY_SSE4},
#elif defined(__x86_64__)
    {"AVX2", HWY_AVX2},
#elif defined(__aarch64__)
    {"NEON", HWY_NEON},
#endif
    {kReference, 0},
};

// Asking the processor takes microseconds on a virtual machine. Threads that ask at once hear the same; none waits for
// another, which a forked child would not have.
std::int64_t supportedTargets() {
  static constinit std::atomic<std::int64_t> heard{0};
  std::int64_t targets = heard.load(std::memory_order_relaxed);
  if (targets == 0) {
    targets = hwy::SupportedTargets();
    heard.store(targets, std::memory_order_relaxed);
  }
  return targets;
}

bool isSupported(const Target& target) {
  return target.bit == 0 || (supportedTargets() & target.bit) != 0;
}

void reduceCopyByReference(const Reduction& reduction, const Source* sources, int nsources,
                           const Destination* destinations, int ndestinations, std::size_t count) {
  reduceCopyReference(reduction, sources, nsources, destinations, ndestinations, 0, count, 1);
}

ReduceCopyFunction versionFor(DataType type, Operation operation, const Target& target) {
  if (target.bit == 0) return reduceCopyByReference;
  switch (type) {
    case DataType::i8:
    case DataType::u8:
    case DataType::i32:
    case DataType::u32:
    case DataType::i64:
    case DataType::u64:
      return operation == Operation::avg ? reduceCopyIntegerAverages(target.bit, type)
                                         : reduceCopyIntegers(target.bit, type, operation);
    case DataType::f16:
    case DataType::bf16:
      return reduceCopyHalfFloats(target.bit, type, operation);
    case DataType::f32:
    case DataType::f64:
      return reduceCopyWideFloats(target.bit, type, operation);
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      return reduceCopyEightBitFloats(target.bit, type, operation);
  }
  return nullptr;
}

}  // namespace

ReduceCopyFunction reduceCopyFor(DataType type, Operation operation) {
  for (const Target& target : kTargets) {
    if (isSupported(target)) return versionFor(type, operation, target);
  }
  return reduceCopyByReference;
}

ReduceCopyFunction reduceCopyFor(DataType type, Operation operation, std::string_view name) {
  for (const Target& target : kTargets) {
    if (target.name == name && isSupported(target)) return versionFor(type, operation, target);
  }
  return nullptr;
}

std::vector<std::string_view> reduceCopyTargets() {
  std::vector<std::string_view> names;
  for (const Target& target : kTargets) {
    if (isSupported(target)) names.push_back(target.name);
  }
  return names;
}

void reduceCopy(const Reduction& reduction, const Source* sources, int nsources,
                const Destination* destinations, int ndestinations, std::size_t count) {
  assert(nsources >= 1);
  const FloatEnvironment environment;
  reduceCopyFor(reduction.type, reduction.operation)(reduction, sources, nsources, destinations,
                                                     ndestinations, count);
}

}  // namespace tutti
