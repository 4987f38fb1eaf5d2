// What goes over a connection of the rendezvous: frames of a fixed layout, little-endian. A header of 8 bytes
// (length of the body, type; 32 bits each), then the body. Nothing here knows a socket, so that all that parses
// bytes from outside can be tried without one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tutti {

//                      from    body
enum class FrameType : std::uint32_t {
  opening = 1,       // joiner  handshake.h
  challenge = 2,     // host    handshake.h
  proof = 3,         // joiner  handshake.h
  hello = 4,         // joiner  Hello: who it is, and its bytes
  welcome = 5,       // host    empty: the hello is in
  give = 6,          // host    empty: send your descriptors now
  descriptors = 7,   // joiner  empty; the descriptors lie beside it
  contribution = 8,  // host    ContributionFrame; descriptors lie beside it, but not for their own rank
  took = 9,          // joiner  rank (32): I have its descriptors
  haveAll = 10,      // joiner  empty: I have all
  done = 11,         // host    empty: all have all
  failure = 12,      // both    code (32), text
  outcome = 13,      // host    empty; the outcome lies beside it
};

inline constexpr std::size_t kHeaderBytes = 8;
inline constexpr std::size_t kMostContributionBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMostDescriptors = 32;
inline constexpr std::size_t kMostFailureText = std::size_t{1} << 16;

// A frame whose length is outside these is refused when its header is there.
std::size_t leastBodyBytes(FrameType type);
std::size_t mostBodyBytes(FrameType type);

struct Hello {
  std::int32_t rank = 0;
  std::int32_t nranks = 0;
  std::uint32_t pid = 0;          // as the rank sees itself
  std::uint32_t descriptors = 0;  // how many it will give
  std::uint64_t deadlineMs = 0;   // how long it waits in all
  std::uint64_t remainingMs = 0;  // and from now on
  std::string bytes;
};

struct ContributionFrame {
  std::int32_t rank = 0;
  std::uint32_t descriptors = 0;
  std::string_view bytes;  // of the body
};

struct Frame {
  FrameType type = FrameType::opening;
  std::string body;
};

// Header and body.
std::string encodeFrame(FrameType type, std::string_view body);
std::string encodeHello(const Hello& hello);
std::string encodeContribution(const ContributionFrame& contribution);
std::string encodeTook(std::int32_t rank);
std::string encodeFailure(const Status& failure);  // a long text is cut

// Of bodies; invalidArgument for what the encoders do not make.
Result<Hello> decodeHello(std::string_view body);
Result<ContributionFrame> decodeContribution(std::string_view body);
Result<std::int32_t> decodeTook(std::string_view body);
Status decodeFailure(std::string_view body);  // never ok

// Puts one frame after another together from pieces. It asks for no byte beyond the frame, so that descriptors
// that arrive on the way belong to it, and keeps room for no more than the limit of an expected type.
class FrameAssembler {
 public:
  // The types that may come from here on; any other is refused.
  void expect(std::initializer_list<FrameType> types);

  // Where the next bytes go; never empty while the frame is not complete.
  std::span<char> room();

  // `bytes` of room() have been filled. Not ok: the peer does not speak this protocol, and nothing more of it
  // is to be read.
  Status advance(std::size_t bytes);

  bool complete() const { return complete_; }
  Frame take();  // when complete; the next frame begins

 private:
  std::uint32_t expected_ = 0;  // bit t: type t
  char header_[kHeaderBytes] = {};
  std::size_t filled_ = 0;  // of header and body
  Frame frame_;
  bool complete_ = false;
};

}  // namespace tutti
