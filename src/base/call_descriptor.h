// What a rank says about a collective call that it makes: what its board shows, what the tag of its messages
// digests, and what an error prints when ranks differ.
#pragma once

#include <cstdint>
#include <string>

#include "base/collective.h"
#include "base/number_types.h"

namespace tutti {

struct CallDescriptor {
  Collective collective = Collective::allReduce;
  DataType type = DataType::i8;
  Operation operation = Operation::sum;
  std::int32_t root = 0;            // rooted collectives, else 0
  std::uint32_t registrations = 0;  // calls of tuttiCommRegister made so far: they are collective too
  std::uint64_t count = 0;
  std::uint64_t sequence = 0;  // number of this call on its communicator

  // All but count, registrations and sequence, as one word.
  std::uint64_t kind() const {
    return static_cast<std::uint64_t>(collective) | static_cast<std::uint64_t>(type) << 8 |
           static_cast<std::uint64_t>(operation) << 16 |
           static_cast<std::uint64_t>(static_cast<std::uint32_t>(root)) << 32;
  }

  bool operator==(const CallDescriptor&) const = default;
};

// The bytes of the call's buffers on a rank; none where the rank does not use one.
std::uint64_t inputBytesOf(const CallDescriptor& call, int rank, int nranks);
std::uint64_t outputBytesOf(const CallDescriptor& call, int rank, int nranks);

// "all-reduce of 512 f32, sum (call 7)".
std::string describe(const CallDescriptor& call);

// Of all that ranks must agree on in a call, except how many calls and registrations came before it. Kept
// with the plan of repeated calls.
inline std::uint64_t digestOf(const CallDescriptor& call) {
  const auto mix = [](std::uint64_t value) {
    value ^= value >> 32;
    value *= 0x9e3779b97f4a7c15u;
    value ^= value >> 29;
    value *= 0xbf58476d1ce4e5b9u;
    return value ^ (value >> 32);
  };
  return mix(call.count ^ mix(call.kind() + 0x632be59bd9b4e019u));
}

// The tag of a call's messages: this call and, through the tag of the one before it, all earlier ones,
// because ranks can differ in a call that each of them completes (both think that they are the root of a
// broadcast). Odd, so that no message carries the value of untouched memory. One multiplication: it is on the
// path of every call.
inline std::uint32_t tagOf(std::uint64_t digest, std::uint32_t registrations, std::uint64_t sequence,
                           std::uint32_t previousTag) {
  const std::uint64_t sum = digest + (static_cast<std::uint64_t>(previousTag) << 20) +
                            0x632be59bd9b4e019u * registrations + 0xd6e8feb86659fd93u * (sequence + 1);
  return static_cast<std::uint32_t>((sum * 0x9e3779b97f4a7c15u) >> 32) | 1u;
}
inline std::uint32_t tagOf(const CallDescriptor& call, std::uint32_t previousTag) {
  return tagOf(digestOf(call), call.registrations, call.sequence, previousTag);
}

}  // namespace tutti
