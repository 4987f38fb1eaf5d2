#include "kernels/copy_bits.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tutti {
namespace {

// Below this a streaming store costs more than the cache lines it spares.
constexpr std::size_t kSmallestStream = 4096;
// What is read once and written to several destinations stays in L1 meanwhile.
constexpr std::size_t kTile = 8192;

#if defined(__SSE2__)
void streamBits(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t head = std::min(bytes, (64 - (reinterpret_cast<std::uintptr_t>(to) & 63)) & 63);
  if (head != 0) std::memcpy(to, from, head);
  std::size_t i = head;
  for (; i + 64 <= bytes; i += 64) {
    const auto* in = reinterpret_cast<const __m128i*>(from + i);
    auto* out = reinterpret_cast<__m128i*>(to + i);
    const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  if (i < bytes) std::memcpy(to + i, from + i, bytes - i);
}
#endif

bool copyBlock(const std::byte* from, const Destination& destination, std::size_t offset, std::size_t bytes) {
  auto* to = static_cast<std::byte*>(destination.data) + offset;
  if (to == from) return false;
#if defined(__SSE2__)
  if (destination.streaming && bytes >= kSmallestStream) {
    streamBits(to, from, bytes);
    return true;
  }
#endif
  std::memcpy(to, from, bytes);
  return false;
}

}  // namespace

void copyBits(const void* source, const Destination* destinations, int ndestinations, std::size_t bytes) {
  if (bytes == 0) return;  // data may be null then
  const auto* from = static_cast<const std::byte*>(source);
  const std::size_t tile = ndestinations == 1 ? bytes : kTile;
  bool streamed = false;
  for (std::size_t offset = 0; offset < bytes; offset += tile) {
    const std::size_t length = std::min(tile, bytes - offset);
    for (int k = 0; k < ndestinations; ++k) {
      streamed |= copyBlock(from + offset, destinations[k], offset, length);
    }
  }
#if defined(__SSE2__)
  if (streamed) _mm_sfence();
#endif
  static_cast<void>(streamed);
}

}  // namespace tutti
