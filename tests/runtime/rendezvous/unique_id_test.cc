// The 128 bytes of an id: layout, randomness, and what is refused.
#include "runtime/rendezvous/unique_id.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace tutti {
namespace {

using Bytes = std::array<char, UniqueId::kBytes>;

Bytes bytesOf(const UniqueId& id) {
  Bytes bytes;
  bytes.fill('x');
  id.write(bytes);
  return bytes;
}

TEST(UniqueId, Layout) {
  const auto id = UniqueId::make();
  ASSERT_TRUE(id.isOk());
  const Bytes bytes = bytesOf(id.value());
  EXPECT_EQ(std::memcmp(bytes.data(), "TUTTI\0\1\0", 8), 0);
  EXPECT_EQ(std::memcmp(&bytes[8], id.value().key().data(), 32), 0);
  EXPECT_EQ(std::memcmp(&bytes[40], id.value().jobNonce().data(), 16), 0);
  EXPECT_TRUE(std::all_of(bytes.begin() + 56, bytes.end(), [](char byte) { return byte == 0; }));
}

TEST(UniqueId, ComesBackFromItsBytes) {
  const auto id = UniqueId::make();
  const auto parsed = UniqueId::parse(bytesOf(id.value()));
  ASSERT_TRUE(parsed.isOk());
  EXPECT_EQ(parsed.value().key(), id.value().key());
  EXPECT_EQ(parsed.value().jobNonce(), id.value().jobNonce());
  EXPECT_EQ(parsed.value().socketName(), id.value().socketName());
}

TEST(UniqueId, EachIsItsOwn) {
  const auto one = UniqueId::make(), other = UniqueId::make();
  EXPECT_NE(one.value().key(), other.value().key());
  EXPECT_NE(one.value().jobNonce(), other.value().jobNonce());
  EXPECT_NE(one.value().socketName(), other.value().socketName());
}

TEST(UniqueId, TheNameHoldsTheNonceAndNotTheKey) {
  auto bytes = bytesOf(UniqueId::make().value());
  for (int i = 0; i < 16; ++i) bytes[static_cast<std::size_t>(40 + i)] = static_cast<char>(0xf0 + i);
  EXPECT_EQ(UniqueId::parse(bytes).value().socketName(), "tutti-f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
}

std::string refusalOf(const Bytes& bytes) {
  const auto parsed = UniqueId::parse(bytes);
  EXPECT_FALSE(parsed.isOk());
  EXPECT_EQ(parsed.status().code(), Code::invalidArgument);
  return parsed.status().message();
}

TEST(UniqueId, LeavesNoKeyBehind) {
  alignas(UniqueId) unsigned char room[sizeof(UniqueId)];
  auto* const id = new (room) UniqueId(UniqueId::make().value());
  const UniqueId::Key key = id->key();
  const auto holdsKey = [&] {
    const volatile unsigned char* const bytes = room;  // read although the object is gone
    for (std::size_t at = 0; at + key.size() <= sizeof(room); ++at) {
      std::size_t same = 0;
      while (same < key.size() && bytes[at + same] == key[same]) ++same;
      if (same == key.size()) return true;
    }
    return false;
  };
  EXPECT_TRUE(holdsKey());
  id->~UniqueId();
  EXPECT_FALSE(holdsKey());

  Bytes bytes{};
  UniqueId::make().value().write(bytes);
  UniqueId::wipe(bytes);
  EXPECT_EQ(bytes, Bytes{});
}

TEST(UniqueId, RefusesWhatIsNone) {
  Bytes bytes{};
  EXPECT_NE(refusalOf(bytes).find("all zero"), std::string::npos);
  bytes = bytesOf(UniqueId::make().value());
  for (std::size_t i = 0; i < 6; ++i) {
    Bytes wrong = bytes;
    wrong[i] ^= 0x40;
    EXPECT_NE(refusalOf(wrong).find("does not begin"), std::string::npos) << i;
  }
}

TEST(UniqueId, RefusesAnotherVersion) {
  Bytes bytes = bytesOf(UniqueId::make().value());
  bytes[6] = 2;
  EXPECT_NE(refusalOf(bytes).find("version 2 and this library knows version 1"), std::string::npos);
  bytes[6] = 1;
  bytes[7] = 1;
  EXPECT_NE(refusalOf(bytes).find("version 257"), std::string::npos);
}

}  // namespace
}  // namespace tutti
