// See links.h.
#include "links.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::emulation {
namespace {

constexpr std::uint32_t kOldTag = 0xdead0000;
constexpr std::byte kGuard{0xa5};
constexpr std::uint64_t kGuardWord = 0x25a5a5a5a5a5a5a5;
constexpr std::uint32_t kRoom =
    64;  // slots that a sender without a wrap could fill without leaving the allocation

std::uint64_t lineCount(const LinkShape& shape) {
  return shape.slotBytes <= FlaggedLine::kPayload ? 1 : (shape.slotBytes - 1) / FlaggedLine::kPayload + 1;
}

// As flagOf() in base/mailbox_end.h, written again: the check shares nothing with what it checks.
std::uint64_t expectedFlag(std::uint64_t message, std::uint32_t tag) {
  return (static_cast<std::uint64_t>(tag) << 32) + ((message + 1) & 0xffffffff);
}

// As wordsOf() and wordFlagOf() there.
std::uint64_t wordCount(const LinkShape& shape) {
  return 1 + shape.slotBytes / 4 + (shape.slotBytes % 4 != 0 ? 1 : 0);
}
std::uint64_t expectedWord(std::uint64_t message, std::uint32_t data) {
  return (message / 2 % 0x80000000 + 0x80000000) << 32 | data;
}

}  // namespace

struct Links::Link {
  explicit Link(const LinkShape& shape)
      : headers((shape.nslots + kRoom)),
        slots(shape.format == MailboxFormat::slots ? (shape.nslots + kRoom) * shape.slotBytes + kRoom : 0,
              kGuard),
        lines(shape.format == MailboxFormat::lines ? (2 + kRoom) * lineCount(shape) : 0),
        words(shape.format == MailboxFormat::words ? (2 + kRoom) * wordCount(shape) : 0, kGuardWord) {}

  std::vector<SlotHeader> headers;
  std::vector<std::byte> slots;
  std::vector<FlaggedLine> lines;
  std::vector<std::uint64_t> words;
  alignas(64) std::uint64_t credit = 0;
  alignas(64) MailboxEnd sender;
  alignas(64) MailboxEnd receiver;
};

void Links::DeleteLink::operator()(Link* link) const {
  delete link;
}

MailboxEnd* Links::end(int from, int to, int channel, bool sends) {
  auto& link = links_[{from, to, channel}];
  if (link == nullptr) {
    link.reset(new Link(shape_));
    const bool lines = shape_.format == MailboxFormat::lines;
    const bool words = shape_.format == MailboxFormat::words;
    const std::uint32_t nslots = lines || words ? 2 : shape_.nslots;
    const std::uint64_t first = shape_.firstMessage + static_cast<unsigned>(from * 5 + to * 3 + channel) % 4;
    MailboxEnd end;
    end.format = shape_.format;
    end.nslots = nslots;
    end.slotBytes = shape_.slotBytes;
    end.stride = strideOf(shape_.format, shape_.slotBytes);
    end.headers = link->headers.data();
    end.slots = lines   ? reinterpret_cast<std::byte*>(link->lines.data())
                : words ? reinterpret_cast<std::byte*>(link->words.data())
                        : link->slots.data();
    end.credit = &link->credit;
    end.messages = first;
    end.slot = static_cast<std::uint32_t>(first % nslots);
    end.creditSeen = first;
    link->sender = link->receiver = end;
    link->credit = first;
    // What the messages before have left.
    for (SlotHeader& header : link->headers) header = {~std::uint64_t{0}, ~std::uint64_t{0}};
    for (FlaggedLine& line : link->lines) {
      std::fill(std::begin(line.payload), std::end(line.payload), kGuard);
      line.flag = ~std::uint64_t{0};
    }
    for (std::uint32_t back = 1; back <= nslots; ++back) {
      const std::uint64_t message = first - back;
      const std::uint32_t slot = (end.slot + nslots - back) % nslots;
      link->headers[slot].flag = expectedFlag(message, kOldTag);
      const std::uint64_t perSlot = lineCount(shape_);
      // Only the longest messages reach the last lines and words, so those hold older flags, or none.
      for (std::uint64_t i = 0; lines && i < perSlot; ++i)
        link->lines[slot * perSlot + i].flag = expectedFlag(message - 2 * i, kOldTag);
      const std::uint64_t wordsPerSlot = wordCount(shape_);
      for (std::uint64_t i = 0; words && i < wordsPerSlot; ++i)
        link->words[slot * wordsPerSlot + i] =
            first < back + 2 * i ? 0 : expectedWord(message - 2 * i, kOldTag);
    }
  }
  return sends ? &link->sender : &link->receiver;
}

std::vector<std::string> Links::faults() const {
  std::vector<std::string> faults;
  for (const auto& [key, link] : links_) {
    const auto& [from, to, channel] = key;
    const MailboxEnd& sender = link->sender;
    const MailboxEnd& receiver = link->receiver;
    const auto fault = [&](const std::string& what) {
      faults.push_back(fmt::format("link {}->{} #{}: {}", from, to, channel, what));
    };
    const bool lines = shape_.format == MailboxFormat::lines;
    const bool words = shape_.format == MailboxFormat::words;
    const std::uint32_t nslots = lines || words ? 2 : shape_.nslots;
    if (sender.messages != receiver.messages)
      fault(fmt::format("{} messages sent, {} taken", sender.messages, receiver.messages));
    if (sender.bytes != receiver.bytes)
      fault(fmt::format("{} bytes sent, {} taken", sender.bytes, receiver.bytes));
    if (sender.slot != receiver.slot)
      fault(fmt::format("slot {} is sent, slot {} taken", sender.slot, receiver.slot));
    if (!lines && !words && link->credit != receiver.messages)
      fault(fmt::format("credit {} for {} messages", link->credit, receiver.messages));
    if (lines) {
      const std::uint64_t perSlot = lineCount(shape_);
      for (std::uint64_t i = 2 * perSlot; i < link->lines.size(); ++i) {
        const FlaggedLine& line = link->lines[i];
        if (line.flag != ~std::uint64_t{0} || line.payload[0] != kGuard) {
          fault("a line behind the buffers was written");
          break;
        }
      }
      continue;
    }
    if (words) {
      if (std::any_of(link->words.begin() + static_cast<std::ptrdiff_t>(2 * wordCount(shape_)),
                      link->words.end(), [](std::uint64_t word) { return word != kGuardWord; }))
        fault("a word behind the buffers was written");
      continue;
    }
    for (std::uint32_t back = 1; back <= nslots; ++back) {
      const std::uint32_t slot = (sender.slot + nslots - back) % nslots;
      const std::uint64_t flag = link->headers[slot].flag;
      if ((flag & 0xffffffff) != (expectedFlag(sender.messages - back, 0) & 0xffffffff))
        fault(fmt::format("slot {} holds flag {:#x} after {} messages", slot, flag, sender.messages));
    }
    for (std::size_t i = nslots; i < link->headers.size(); ++i) {
      if (link->headers[i].flag != ~std::uint64_t{0} || link->headers[i].bytes != ~std::uint64_t{0}) {
        fault("a header behind the slots was written");
        break;
      }
    }
    if (std::any_of(link->slots.begin() + static_cast<std::ptrdiff_t>(nslots * shape_.slotBytes),
                    link->slots.end(), [](std::byte byte) { return byte != kGuard; }))
      fault("memory behind the slots was written");
  }
  return faults;
}

}  // namespace tutti::emulation
