// See frames.h.
#include "runtime/rendezvous/frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/rendezvous/handshake.h"

namespace tutti {
namespace {

constexpr std::size_t kHelloFixed = 4 * 4 + 2 * 8;
constexpr std::size_t kContributionFixed = 2 * 4;
constexpr std::size_t kFailureFixed = 4;

void put32(std::string& to, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) to += static_cast<char>(value >> (8 * i) & 0xff);
}
void put64(std::string& to, std::uint64_t value) {
  put32(to, static_cast<std::uint32_t>(value));
  put32(to, static_cast<std::uint32_t>(value >> 32));
}
std::uint32_t get32(std::string_view from, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value |= std::uint32_t{static_cast<unsigned char>(from[at + i])} << (8 * i);
  return value;
}
std::uint64_t get64(std::string_view from, std::size_t at) {
  return get32(from, at) | std::uint64_t{get32(from, at + 4)} << 32;
}

Status malformed(const char* what) {
  return Status(Code::invalidArgument, fmt::format("a malformed {} frame", what));
}

bool isKnown(std::uint32_t type) {
  return type >= static_cast<std::uint32_t>(FrameType::opening) &&
         type <= static_cast<std::uint32_t>(FrameType::outcome);
}

}  // namespace

std::size_t leastBodyBytes(FrameType type) {
  switch (type) {
    case FrameType::opening:
      return kOpeningBytes;
    case FrameType::challenge:
      return kChallengeBytes;
    case FrameType::proof:
      return kProofBytes;
    case FrameType::hello:
      return kHelloFixed;
    case FrameType::contribution:
      return kContributionFixed;
    case FrameType::took:
      return 4;
    case FrameType::failure:
      return kFailureFixed;
    case FrameType::welcome:
    case FrameType::give:
    case FrameType::descriptors:
    case FrameType::haveAll:
    case FrameType::done:
    case FrameType::outcome:
      return 0;
  }
  return 0;
}

std::size_t mostBodyBytes(FrameType type) {
  switch (type) {
    case FrameType::hello:
      return kHelloFixed + kMostContributionBytes;
    case FrameType::contribution:
      return kContributionFixed + kMostContributionBytes;
    case FrameType::failure:
      return kFailureFixed + kMostFailureText;
    default:
      return leastBodyBytes(type);
  }
}

std::string encodeFrame(FrameType type, std::string_view body) {
  std::string frame;
  frame.reserve(kHeaderBytes + body.size());
  put32(frame, static_cast<std::uint32_t>(body.size()));
  put32(frame, static_cast<std::uint32_t>(type));
  return frame.append(body);
}

std::string encodeHello(const Hello& hello) {
  std::string body;
  put32(body, static_cast<std::uint32_t>(hello.rank));
  put32(body, static_cast<std::uint32_t>(hello.nranks));
  put32(body, hello.pid);
  put32(body, hello.descriptors);
  put64(body, hello.deadlineMs);
  put64(body, hello.remainingMs);
  return encodeFrame(FrameType::hello, body + hello.bytes);
}

std::string encodeContribution(const ContributionFrame& contribution) {
  std::string body;
  put32(body, static_cast<std::uint32_t>(contribution.rank));
  put32(body, contribution.descriptors);
  return encodeFrame(FrameType::contribution, body.append(contribution.bytes));
}

std::string encodeTook(std::int32_t rank) {
  std::string body;
  put32(body, static_cast<std::uint32_t>(rank));
  return encodeFrame(FrameType::took, body);
}

std::string encodeFailure(const Status& failure) {
  std::string body;
  put32(body, static_cast<std::uint32_t>(failure.code()));
  return encodeFrame(FrameType::failure, body + failure.message().substr(0, kMostFailureText));
}

Result<Hello> decodeHello(std::string_view body) {
  if (body.size() < kHelloFixed || body.size() > mostBodyBytes(FrameType::hello)) return malformed("hello");
  Hello hello;
  hello.rank = static_cast<std::int32_t>(get32(body, 0));
  hello.nranks = static_cast<std::int32_t>(get32(body, 4));
  hello.pid = get32(body, 8);
  hello.descriptors = get32(body, 12);
  hello.deadlineMs = get64(body, 16);
  hello.remainingMs = get64(body, 24);
  hello.bytes = body.substr(kHelloFixed);
  if (hello.descriptors > kMostDescriptors) return malformed("hello");
  return hello;
}

Result<ContributionFrame> decodeContribution(std::string_view body) {
  if (body.size() < kContributionFixed || body.size() > mostBodyBytes(FrameType::contribution))
    return malformed("contribution");
  ContributionFrame contribution;
  contribution.rank = static_cast<std::int32_t>(get32(body, 0));
  contribution.descriptors = get32(body, 4);
  contribution.bytes = body.substr(kContributionFixed);
  if (contribution.descriptors > kMostDescriptors) return malformed("contribution");
  return contribution;
}

Result<std::int32_t> decodeTook(std::string_view body) {
  if (body.size() != 4) return malformed("took");
  return static_cast<std::int32_t>(get32(body, 0));
}

Status decodeFailure(std::string_view body) {
  if (body.size() < kFailureFixed) return malformed("failure");
  const auto code = static_cast<Code>(get32(body, 0));
  const std::string text(body.substr(kFailureFixed));
  switch (code) {
    case Code::deviceError:
    case Code::systemError:
    case Code::internalError:
    case Code::invalidArgument:
    case Code::invalidUsage:
    case Code::remoteError:
    case Code::timeout:
    case Code::mismatch:
    case Code::broken:
    case Code::notSupported:
      return Status(code, text);
    case Code::ok:
      break;
  }
  return Status(Code::remoteError, text);
}

void FrameAssembler::expect(std::initializer_list<FrameType> types) {
  expected_ = 0;
  for (const FrameType type : types) expected_ |= 1u << static_cast<std::uint32_t>(type);
}

std::span<char> FrameAssembler::room() {
  if (filled_ < kHeaderBytes) return {header_ + filled_, kHeaderBytes - filled_};
  return {frame_.body.data() + (filled_ - kHeaderBytes), frame_.body.size() - (filled_ - kHeaderBytes)};
}

Status FrameAssembler::advance(std::size_t bytes) {
  const bool headerWasThere = filled_ >= kHeaderBytes;
  filled_ += bytes;
  if (filled_ < kHeaderBytes) return Status();
  if (!headerWasThere) {
    const std::string_view header(header_, kHeaderBytes);
    const std::uint32_t length = get32(header, 0), type = get32(header, 4);
    if (!isKnown(type) || (expected_ >> type & 1) == 0)
      return Status(Code::invalidArgument, fmt::format("a frame of type {} where none may come", type));
    frame_.type = static_cast<FrameType>(type);
    if (length < leastBodyBytes(frame_.type) || length > mostBodyBytes(frame_.type))
      return Status(Code::invalidArgument, fmt::format("a frame of type {} of {} bytes", type, length));
    frame_.body.resize(length);
  }
  complete_ = filled_ == kHeaderBytes + frame_.body.size();
  return Status();
}

Frame FrameAssembler::take() {
  filled_ = 0;
  complete_ = false;
  Frame frame = std::move(frame_);
  frame_ = Frame();
  return frame;
}

}  // namespace tutti
