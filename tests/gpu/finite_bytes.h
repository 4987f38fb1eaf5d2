// Random contents for floats of any width, less what could make a NaN: its bits are free (tests/kernels has them).
#pragma once

#include <cstddef>
#include <random>

namespace tutti::cuda {

// Elements of `elementBytes` bytes: the last byte of each, which has the exponent, makes it a number of modest size.
inline void fillFinite(std::mt19937_64& random, std::byte* data, std::size_t bytes,
                       std::size_t elementBytes) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(random());
  for (std::size_t i = elementBytes - 1; i < bytes; i += elementBytes)
    data[i] = static_cast<std::byte>(0x38 + random() % 8 + (random() % 2) * 0x80);
}

}  // namespace tutti::cuda
