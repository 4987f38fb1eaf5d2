// Bytes from outside become frames or are refused; never more is kept than an expected frame may hold.
#include "runtime/rendezvous/frames.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "runtime/rendezvous/handshake.h"

namespace tutti {
namespace {

// Hands bytes over in pieces of at most `piece`. How many were taken, and whether that went well.
struct Fed {
  std::size_t taken;
  Status status;
};
Fed feed(FrameAssembler& assembler, std::string_view bytes, std::size_t piece) {
  std::size_t taken = 0;
  while (taken < bytes.size() && !assembler.complete()) {
    const auto room = assembler.room();
    EXPECT_FALSE(room.empty());
    const std::size_t n = std::min({piece, room.size(), bytes.size() - taken});
    std::memcpy(room.data(), bytes.data() + taken, n);
    taken += n;
    if (Status status = assembler.advance(n); !status.isOk()) return {taken, status};
  }
  return {taken, Status()};
}

std::string headerOf(std::uint32_t length, std::uint32_t type) {
  std::string header;
  for (int i = 0; i < 4; ++i) header += static_cast<char>(length >> 8 * i);
  for (int i = 0; i < 4; ++i) header += static_cast<char>(type >> 8 * i);
  return header;
}

TEST(Frames, LayoutIsFixed) {
  EXPECT_EQ(encodeFrame(FrameType::done, ""), std::string("\0\0\0\0\x0b\0\0\0", 8));
  EXPECT_EQ(encodeTook(258), std::string("\4\0\0\0\x09\0\0\0\2\1\0\0", 12));
  EXPECT_EQ(encodeContribution({1, 2, "ab"}), std::string("\x0a\0\0\0\x08\0\0\0\1\0\0\0\2\0\0\0ab", 18));
}

TEST(Frames, AnyPieces) {
  const std::string first = encodeContribution({7, 2, std::string(1000, 'x')}), second = encodeTook(3);
  for (const std::size_t piece : {1u, 2u, 7u, 8u, 9u, 100u, 100000u}) {
    FrameAssembler assembler;
    assembler.expect({FrameType::contribution, FrameType::took});
    const std::string both = first + second;
    const Fed one = feed(assembler, both, piece);
    ASSERT_TRUE(one.status.isOk());
    EXPECT_EQ(one.taken, first.size()) << "not a byte beyond the frame";
    Frame frame = assembler.take();
    EXPECT_EQ(frame.type, FrameType::contribution);
    EXPECT_EQ(decodeContribution(frame.body).value().bytes, std::string(1000, 'x'));
    EXPECT_FALSE(assembler.complete());
    feed(assembler, both.substr(one.taken), piece);
    ASSERT_TRUE(assembler.complete());
    EXPECT_EQ(decodeTook(assembler.take().body).value(), 3);
  }
}

TEST(Frames, EmptyBodies) {
  FrameAssembler assembler;
  assembler.expect({FrameType::done});
  EXPECT_TRUE(feed(assembler, encodeFrame(FrameType::done, ""), 8).status.isOk());
  ASSERT_TRUE(assembler.complete());
  EXPECT_EQ(assembler.take().type, FrameType::done);
}

TEST(Frames, LengthsOutsideTheLimitsAreRefusedAtTheHeader) {
  for (std::uint32_t type = 1; type <= 13; ++type) {
    const auto known = static_cast<FrameType>(type);
    for (const std::size_t length :
         {mostBodyBytes(known) + 1, std::size_t{0xffffffff}, leastBodyBytes(known) - 1}) {
      if (length > 0xffffffff) continue;  // least is 0
      FrameAssembler assembler;
      assembler.expect({known});
      const Fed fed = feed(assembler, headerOf(static_cast<std::uint32_t>(length), type) + "xxxx", 100);
      EXPECT_FALSE(fed.status.isOk()) << type << ' ' << length;
      EXPECT_EQ(fed.taken, kHeaderBytes);
    }
    FrameAssembler assembler;
    assembler.expect({known});
    EXPECT_TRUE(
        feed(assembler, headerOf(static_cast<std::uint32_t>(mostBodyBytes(known)), type), 8).status.isOk());
    EXPECT_LE(assembler.room().size(), mostBodyBytes(known));
  }
}

TEST(Frames, AStrangerGetsLittleRoom) {
  for (const FrameType type : {FrameType::opening, FrameType::challenge, FrameType::proof})
    EXPECT_LE(mostBodyBytes(type), 64u);
}

TEST(Frames, TypesThatAreNotExpectedAreRefused) {
  for (const std::uint32_t type : {0u, 2u, 12u, 13u, 14u, 31u, 32u, 33u, 0x80000001u, 0xffffffffu}) {
    FrameAssembler assembler;
    assembler.expect({FrameType::opening});
    EXPECT_FALSE(feed(assembler, headerOf(32, type), 8).status.isOk()) << type;
  }
}

TEST(Frames, HelloThereAndBack) {
  Hello hello;
  hello.rank = -1;
  hello.nranks = 0x12345678;
  hello.pid = 0xfedcba98;
  hello.descriptors = 3;
  hello.deadlineMs = 0x0123456789abcdef;
  hello.remainingMs = 7;
  hello.bytes = std::string("a\0b", 3);
  const Hello back = decodeHello(encodeHello(hello).substr(kHeaderBytes)).value();
  EXPECT_EQ(back.rank, -1);
  EXPECT_EQ(back.nranks, hello.nranks);
  EXPECT_EQ(back.pid, hello.pid);
  EXPECT_EQ(back.descriptors, 3u);
  EXPECT_EQ(back.deadlineMs, hello.deadlineMs);
  EXPECT_EQ(back.remainingMs, 7u);
  EXPECT_EQ(back.bytes, hello.bytes);
}

TEST(Frames, FailureThereAndBack) {
  const Status sent(Code::mismatch, "text");
  const Status back = decodeFailure(encodeFailure(sent).substr(kHeaderBytes));
  EXPECT_EQ(back.code(), Code::mismatch);
  EXPECT_EQ(back.message(), "text");
  const std::string huge = encodeFailure(Status(Code::timeout, std::string(1 << 20, 'x')));
  EXPECT_EQ(huge.size(), kHeaderBytes + mostBodyBytes(FrameType::failure));
}

TEST(Frames, AFailureIsNeverOkAndItsCodeIsKnown) {
  EXPECT_EQ(decodeFailure(std::string_view("\0\0\0\0text", 8)).code(), Code::remoteError);
  EXPECT_EQ(decodeFailure("\xff\xff\xff\xfftext").code(), Code::remoteError);
  EXPECT_FALSE(decodeFailure("").isOk());
}

TEST(Frames, MalformedBodies) {
  EXPECT_FALSE(decodeHello("short").isOk());
  EXPECT_FALSE(decodeContribution("short").isOk());
  EXPECT_FALSE(decodeTook("123").isOk());
  Hello hello;
  hello.descriptors = kMostDescriptors + 1;
  EXPECT_FALSE(decodeHello(encodeHello(hello).substr(kHeaderBytes)).isOk());
  EXPECT_FALSE(
      decodeContribution(encodeContribution({0, kMostDescriptors + 1, ""}).substr(kHeaderBytes)).isOk());
}

TEST(Frames, RandomBytesAreRefusedOrBounded) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 20000; ++turn) {
    FrameAssembler assembler;
    assembler.expect({FrameType::hello, FrameType::failure, FrameType::took});
    std::string bytes;
    for (int i = 0; i < 64; ++i) bytes += static_cast<char>(random() % (turn % 2 == 0 ? 256 : 14));
    feed(assembler, bytes, 1 + random() % 20);
    if (!assembler.complete()) continue;
    const Frame frame = assembler.take();
    if (frame.type == FrameType::hello) (void)decodeHello(frame.body);
    if (frame.type == FrameType::failure) {
      EXPECT_FALSE(decodeFailure(frame.body).isOk());
    }
  }
}

}  // namespace
}  // namespace tutti
