// The parts of a link's memory: in order, apart from each other, and together all of it.
#include "transport/link_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace tutti {
namespace {

std::size_t distance(const void* from, const void* to) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from));
}

TEST(LinkMemory, HasAllPartsAndNoMore) {
  for (const std::uint64_t bytes : {64u, 500u, 4096u}) {
    for (const std::uint32_t nslots : {1u, 2u, 3u, 8u}) {
      LinkOptions options;
      options.slotBytes = bytes;
      options.nslots = nslots;
      options.lineBytes = bytes;
      for (const MailboxFormat format : {MailboxFormat::slots, MailboxFormat::lines}) {
        const bool lines = format == MailboxFormat::lines;
        std::vector<FlaggedLine> memory(linkBytes(format, options) / sizeof(FlaggedLine) + 1);
        auto* const begin = reinterpret_cast<std::byte*>(memory.data());
        const MailboxEnd end = linkEnd(begin, format, options);
        EXPECT_EQ(end.nslots, lines ? 2 : nslots);
        EXPECT_EQ(end.slotBytes, bytes);
        EXPECT_EQ(distance(begin, end.credit), 0u);
        EXPECT_EQ(end.headers == nullptr, lines);
        EXPECT_TRUE(lines || distance(begin, end.headers) == kApart);
        EXPECT_EQ(distance(begin, end.slots), kApart + (lines ? 0 : nslots * sizeof(SlotHeader)));
        EXPECT_EQ(distance(begin, end.slots + end.nslots * end.stride), linkBytes(format, options));
      }
    }
  }
}

TEST(LinkMemory, BeginsWhereItIsTold) {
  LinkOptions options;
  options.firstMessage = 1001;
  options.nslots = 4;
  std::vector<FlaggedLine> memory(linkBytes(MailboxFormat::slots, options) / sizeof(FlaggedLine));
  auto* const begin = reinterpret_cast<std::byte*>(memory.data());
  startLink(begin, options);
  const MailboxEnd end = linkEnd(begin, MailboxFormat::slots, options);
  EXPECT_EQ(*end.credit, 1001u);
  EXPECT_EQ(end.messages, 1001u);
  EXPECT_EQ(end.creditSeen, 1001u);
  EXPECT_EQ(end.slot, 1u);
}

TEST(LinkMemory, IsNotForWords) {
  EXPECT_TRUE(carriesFormat(MailboxFormat::slots).isOk());
  EXPECT_TRUE(carriesFormat(MailboxFormat::lines).isOk());
  EXPECT_EQ(carriesFormat(MailboxFormat::words).code(), Code::internalError);
}

}  // namespace
}  // namespace tutti
