// See bandwidth_operands.h.
#include "tests/gpu/bandwidth_operands.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "kernels/reduce_copy.h"
#include "tests/gpu/difference.h"
#include "tests/gpu/finite_bytes.h"

namespace tutti::cuda {
namespace {

// No multiple of what a grid takes at once, so that an element from a wrong place is another element.
constexpr std::size_t kPatternBytes = (std::size_t{16} << 20) - 1000;
constexpr std::size_t kSampleBytes = 16384;

}  // namespace

BandwidthOperands::BandwidthOperands(Report& report, std::size_t bytes, int nsources)
    : report_(report), bytes_(bytes), pattern_(kPatternBytes) {
  std::mt19937_64 random(bytes);
  fillFinite(random, pattern_.data(), kPatternBytes, bytesOf(DataType::bf16));  // finite as f32 too
  for (int k = 0; k < nsources && isWhole_; ++k) {
    sources_.push_back(DeviceBuffer::make(report, bytes));
    isWhole_ = sources_.back() && fill(k);
  }
  if (!isWhole_) return;
  destination_ = DeviceBuffer::make(report, bytes);
  isWhole_ = static_cast<bool>(destination_);
}

ReduceCopyCall BandwidthOperands::callOf(const Sum& sum) const {
  ReduceCopyCall call{};
  call.reduction = {sum.type, Operation::sum, static_cast<std::uint32_t>(sum.nsources)};
  call.count = bytes_ / bytesOf(sum.type);
  call.nsources = sum.nsources;
  call.ndestinations = 1;
  for (int k = 0; k < sum.nsources; ++k)
    call.sources[k] = {sources_[static_cast<std::size_t>(k)].data(), Form::raw};
  call.destinations[0] = {destination_.data(), Form::result};
  return call;
}

cudaError_t BandwidthOperands::copy() const {
  return cudaMemcpyAsync(destination_.data(), sources_[0].data(), bytes_, cudaMemcpyDeviceToDevice, nullptr);
}

cudaError_t BandwidthOperands::poison() const {
  return cudaMemsetAsync(destination_.data(), 0xff, bytes_, nullptr);
}

bool BandwidthOperands::areRight(const Sum& sum, const std::string& what) const {
  const std::size_t last = bytes_ - kSampleBytes;
  for (std::size_t begin : {std::size_t{0}, last / 3 / 64 * 64, last / 5 * 4 / 64 * 64, last}) {
    std::vector<std::byte> got(kSampleBytes);
    std::vector<std::byte> expected(kSampleBytes);
    if (!succeeds(report_,
                  cudaMemcpy(got.data(), destination_.data() + begin, kSampleBytes, cudaMemcpyDeviceToHost),
                  what + ": copy from the device"))
      return false;
    std::vector<std::vector<std::byte>> samples;
    std::vector<Source> sources;
    for (int k = 0; k < sum.nsources; ++k) {
      samples.push_back(sampleOf(k, begin));
      sources.push_back({samples.back().data(), Form::raw});
    }
    const Destination destination{expected.data(), Form::result};
    tutti::reduceCopy(callOf(sum).reduction, sources.data(), sum.nsources, &destination, 1,
                      kSampleBytes / bytesOf(sum.type));
    const std::string difference = differenceOf(got.data(), expected.data(), kSampleBytes, bytesOf(sum.type));
    if (difference.empty()) continue;
    report_.fault(fmt::format("{}: from byte {} on {}", what, begin, difference));
    return false;
  }
  return true;
}

// Where in the pattern source `k` begins.
std::size_t BandwidthOperands::offsetOf(int k) const {
  return static_cast<std::size_t>(k) * 700'004 % kPatternBytes;
}

// What source `k` has from byte `begin` on.
std::vector<std::byte> BandwidthOperands::sampleOf(int k, std::size_t begin) const {
  std::vector<std::byte> sample(kSampleBytes);
  for (std::size_t i = 0; i < kSampleBytes; ++i)
    sample[i] = pattern_[(offsetOf(k) + begin + i) % kPatternBytes];
  return sample;
}

// The pattern goes to the device once and is doubled there.
bool BandwidthOperands::fill(int k) {
  std::byte* data = sources_[static_cast<std::size_t>(k)].data();
  std::vector<std::byte> turned(kPatternBytes);
  std::rotate_copy(pattern_.begin(), pattern_.begin() + static_cast<std::ptrdiff_t>(offsetOf(k)),
                   pattern_.end(), turned.begin());
  std::size_t filled = std::min(bytes_, kPatternBytes);
  if (!succeeds(report_, cudaMemcpy(data, turned.data(), filled, cudaMemcpyHostToDevice),
                "copy to the device"))
    return false;
  while (filled < bytes_) {
    const std::size_t more = std::min(filled, bytes_ - filled);
    if (!succeeds(report_, cudaMemcpy(data + filled, data, more, cudaMemcpyDeviceToDevice),
                  "copy on the device"))
      return false;
    filled += more;
  }
  return true;
}

}  // namespace tutti::cuda
