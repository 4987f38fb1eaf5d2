// Links between threads of one process: both ends share one mailbox, whoever opens them first; parts do not
// overlap and lie on cache lines of their own.
#include "transport/inprocess/links.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace tutti {
namespace {

TEST(InProcessLinks, BothEndsShareAMailbox) {
  const auto hub = std::make_shared<InProcessHub>(LinkOptions());
  InProcessLinks zero(hub, 0), one(hub, 1);
  for (const MailboxFormat format : {MailboxFormat::slots, MailboxFormat::lines}) {
    MailboxEnd* const sender = zero.open({1, 0, true, format}).value();
    MailboxEnd* const receiver = one.open({0, 0, false, format}).value();
    EXPECT_NE(sender, receiver);
    EXPECT_EQ(sender->slots, receiver->slots);
    EXPECT_EQ(sender->headers, receiver->headers);
    EXPECT_EQ(sender->credit, receiver->credit);
    EXPECT_EQ(sender->format, format);
    EXPECT_EQ(sender->nslots, format == MailboxFormat::lines ? 2u : LinkOptions().nslots);
    EXPECT_EQ(zero.open({1, 0, true, format}).value(), sender);
  }
}

TEST(InProcessLinks, DirectionsChannelsAndFormatsAreApart) {
  const auto hub = std::make_shared<InProcessHub>(LinkOptions());
  InProcessLinks zero(hub, 0);
  std::vector<std::byte*> slots;
  for (const int peer : {0, 1, 2}) {
    for (const int channel : {0, 1}) {
      for (const MailboxFormat format : {MailboxFormat::slots, MailboxFormat::lines}) {
        for (const bool sends : {true, false}) {
          if (peer == 0 && !sends) continue;  // a self link is one link
          slots.push_back(zero.open({peer, channel, sends, format}).value()->slots);
        }
      }
    }
  }
  for (std::size_t i = 0; i < slots.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(slots[i], slots[j]);
  }
}

TEST(InProcessLinks, CarryNoWords) {
  InProcessLinks zero(std::make_shared<InProcessHub>(LinkOptions()), 0);
  EXPECT_EQ(zero.open({1, 0, true, MailboxFormat::words}).status().code(), Code::internalError);
}

TEST(InProcessLinks, PartsAreOnCacheLinesOfTheirOwn) {
  for (const std::uint64_t slotBytes : {64u, 4096u, 65'536u}) {
    LinkOptions options;
    options.slotBytes = slotBytes;
    options.nslots = 3;
    options.lineBytes = 500;
    const auto hub = std::make_shared<InProcessHub>(options);
    InProcessLinks zero(hub, 0);
    const MailboxEnd& end = *zero.open({1, 0, true, MailboxFormat::slots}).value();
    EXPECT_EQ(end.slotBytes, slotBytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(end.credit) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(end.headers) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(end.slots) % 64, 0u);
    EXPECT_GE(reinterpret_cast<std::byte*>(end.headers) - reinterpret_cast<std::byte*>(end.credit), 64);
    EXPECT_GE(end.slots, reinterpret_cast<std::byte*>(end.headers + 3));
    // All of it may be written.
    for (std::size_t i = 0; i < 3 * slotBytes; ++i) end.slots[i] = std::byte{1};
    const MailboxEnd& lines = *zero.open({1, 0, true, MailboxFormat::lines}).value();
    EXPECT_EQ(lines.slotBytes, 500u);
    EXPECT_EQ(lines.headers, nullptr);
    const std::size_t bytes = 2 * linesOf(500) * sizeof(FlaggedLine);
    EXPECT_EQ(linesOf(500), 9u);
    for (std::size_t i = 0; i < bytes; ++i) lines.slots[i] = std::byte{1};
    EXPECT_GE(hub->mailboxBytes(), 3 * slotBytes + bytes);
  }
}

TEST(InProcessLinks, BeginWhereTheyAreTold) {
  LinkOptions options;
  options.firstMessage = (std::uint64_t{1} << 32) - 2;
  options.nslots = 3;
  const auto hub = std::make_shared<InProcessHub>(options);
  const MailboxEnd& end = *hub->open(0, 1, 0, MailboxFormat::slots, true).value();
  EXPECT_EQ(end.messages, options.firstMessage);
  EXPECT_EQ(end.slot, options.firstMessage % 3);
  EXPECT_EQ(*end.credit, options.firstMessage);
}

TEST(InProcessLinks, OpenedByManyThreadsAtOnce) {
  for (int round = 0; round < 50; ++round) {
    const auto hub = std::make_shared<InProcessHub>(LinkOptions());
    std::vector<MailboxEnd*> ends(4);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 4; ++i)
      threads.emplace_back(
          [&, i] { ends[i] = hub->open(0, 1, 0, MailboxFormat::slots, i % 2 == 0).value(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ends[0], ends[2]);
    EXPECT_EQ(ends[1], ends[3]);
    EXPECT_EQ(ends[0]->slots, ends[1]->slots);
  }
}

}  // namespace
}  // namespace tutti
