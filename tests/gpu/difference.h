// Where the bytes of two buffers differ, in words that need no second run to be of use.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace tutti::cuda {

// The first element that differs, and how many do; nothing if none does. Elements are read as numbers of this machine.
inline std::string differenceOf(const std::byte* got, const std::byte* want, std::size_t bytes,
                                std::size_t elementBytes) {
  if (bytes == 0 || std::memcmp(got, want, bytes) == 0) return "";
  const auto hex = [elementBytes](const std::byte* element) {
    std::string text;
    for (std::size_t i = elementBytes; i-- > 0;)
      text += fmt::format("{:02x}", std::to_integer<int>(element[i]));
    return text;
  };
  const std::size_t count = bytes / elementBytes;
  std::size_t ndiffer = 0;
  std::size_t first = 0;
  for (std::size_t i = count; i-- > 0;) {
    if (std::memcmp(got + i * elementBytes, want + i * elementBytes, elementBytes) == 0) continue;
    ++ndiffer;
    first = i;
  }
  return fmt::format("element {} is {}, not {}; {} of {} elements differ", first,
                     hex(got + first * elementBytes), hex(want + first * elementBytes), ndiffer, count);
}

}  // namespace tutti::cuda
