// The reference reduction: exact integers in 64 bits, one rounding at the end, a quotient of its own for
// averages. See pattern.h.
#include "tests/support/pattern.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tests/support/numbers.h"

namespace tutti::reference {
namespace {

std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdu;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53u;
  return value ^ (value >> 33);
}

// Products stay small: mostly ones, now and then a two or a minus one.
std::int64_t factorOf(std::uint64_t hash, bool isSigned) {
  if (hash % 5 == 0) return 2;
  return isSigned && hash % 3 == 0 ? -1 : 1;
}

void storeReduced(tuttiDataType_t type, tuttiRedOp_t operation, std::int64_t value, int nranks,
                  void* element) {
  if (operation != tuttiAvg) {
    if (isFloat(type)) {
      store(type, static_cast<long double>(value), element);
    } else {
      storeInteger(type, value, element);
    }
  } else if (!isFloat(type)) {
    storeInteger(type, value / nranks, element);
  } else if (type == tuttiFloat64) {
    store(type, static_cast<double>(value) / nranks, element);
  } else {
    // 16- and 8-bit floats divide as f32 and round once more.
    store(type, static_cast<float>(value) / static_cast<float>(nranks), element);
  }
}

}  // namespace

Pattern::Pattern(tuttiDataType_t type, tuttiRedOp_t operation, int nranks, unsigned seed)
    : size_(sizeOf(type)), data_(static_cast<std::size_t>(nranks)), reduced_(size_ * kPeriod) {
  for (auto& data : data_) data.resize(size_ * kPeriod);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    std::int64_t total = 0;
    for (int rank = 0; rank < nranks; ++rank) {
      const std::uint64_t hash =
          mix(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(rank) * 0x10001 + i);
      const std::int64_t value = operation == tuttiProd ? factorOf(hash, isSigned(type))
                                 : isSigned(type)       ? static_cast<std::int64_t>(hash % 17) - 8
                                                        : static_cast<std::int64_t>(hash % 17);
      unsigned char* element = &data_[static_cast<std::size_t>(rank)][i * size_];
      if (isFloat(type)) {
        store(type, static_cast<long double>(value), element);
      } else {
        storeInteger(type, value, element);
      }
      if (rank == 0) {
        total = value;
      } else if (operation == tuttiProd) {
        total *= value;
      } else if (operation == tuttiMax) {
        total = std::max(total, value);
      } else if (operation == tuttiMin) {
        total = std::min(total, value);
      } else {
        total += value;
      }
    }
    storeReduced(type, operation, total, nranks, &reduced_[i * size_]);
  }
}

void Pattern::fill(int rank, void* to, std::size_t first, std::size_t count) const {
  const std::vector<unsigned char>& period = data_[static_cast<std::size_t>(rank)];
  auto* bytes = static_cast<unsigned char*>(to);
  for (std::size_t done = 0; done < count;) {
    const std::size_t at = (first + done) % kPeriod;
    const std::size_t length = std::min(kPeriod - at, count - done);
    std::memcpy(bytes + done * size_, &period[at * size_], length * size_);
    done += length;
  }
}

std::size_t Pattern::differsFromData(int rank, const void* data, std::size_t first, std::size_t count) const {
  return differs(data_[static_cast<std::size_t>(rank)], data, first, count);
}

std::size_t Pattern::differsFromReduced(const void* data, std::size_t first, std::size_t count) const {
  return differs(reduced_, data, first, count);
}

std::size_t Pattern::differs(const std::vector<unsigned char>& period, const void* data, std::size_t first,
                             std::size_t count) const {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t done = 0; done < count;) {
    const std::size_t at = (first + done) % kPeriod;
    const std::size_t length = std::min(kPeriod - at, count - done);
    if (std::memcmp(bytes + done * size_, &period[at * size_], length * size_) != 0) {
      for (std::size_t i = done; i < count; ++i) {
        if (std::memcmp(bytes + i * size_, &period[(first + i) % kPeriod * size_], size_) != 0) return i;
      }
    }
    done += length;
  }
  return count;
}

}  // namespace tutti::reference
