// One end of a link: a plain struct that a host loop or a thread block drives without knowing what lies
// behind it. The receiver owns the slots and their flags, the sender owns the credit word: each word lives
// where it is polled.
//
//   slots   nslots buffers of slotBytes with a header each; a message waits for a free slot, which the
//           receiver gives back through the credit word
//   lines   two buffers of 64-byte lines, used in turn, each line with its own flag and no credits: for closed
//           schedules only, one message per call (kernels/protocol-inl.h)
//   words   the same with 8-byte words that are flag and data at once: for blocks of several threads, on
//           machines that promise no more than that 8 bytes are stored and loaded as one
//
// A flag of slots and lines holds the message's number in its low half and the tag of the call in its high
// half, so that a message of another call is noticed when the flag is seen, at no cost. A word has room for
// the number only; the tag is what the first word of a message, its head, carries as data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cache_lines.h"
#include "base/host_device.h"

namespace tutti {

struct alignas(64) SlotHeader {
  std::uint64_t flag;
  std::uint64_t bytes;  // of the message; written before the flag
};

struct alignas(64) FlaggedLine {
  static constexpr std::size_t kPayload = 56;
  std::byte payload[kPayload];
  std::uint64_t flag;
};
static_assert(sizeof(FlaggedLine) == 64 && sizeof(SlotHeader) == 64);

inline constexpr std::uint64_t kWordPayload = 4;

enum class MailboxFormat : std::uint32_t { slots, lines, words };

// Apart from others: the two ends of a link are counted by different ranks, and may be allocated together.
struct alignas(kApart) MailboxEnd {
  // Fixed when the link is made.
  MailboxFormat format = MailboxFormat::slots;
  std::uint32_t nslots = 0;     // lines, words: 2
  std::uint64_t slotBytes = 0;  // the largest message
  std::uint64_t stride = 0;     // bytes from slot to slot, or from one buffer of lines or words to the other
  SlotHeader* headers = nullptr;
  // Lines: FlaggedLine[2][linesOf(slotBytes)]; words: uint64_t[2][wordsOf(slotBytes)], zero at first.
  std::byte* slots = nullptr;
  std::uint64_t* credit = nullptr;

  // Private to the lane that drives this end.
  std::uint64_t messages = 0;    // posted or taken so far
  std::uint32_t slot = 0;        // messages % nslots
  std::uint32_t linesTaken = 0;  // of a message that is arriving (one host thread)
  std::uint64_t creditSeen = 0;  // sender: messages that the receiver was last seen to have taken
  std::uint64_t bytes = 0;       // payload posted or taken so far
};

TUTTI_HOST_DEVICE std::uint64_t flagOf(std::uint64_t message, std::uint32_t tag) {
  return (static_cast<std::uint64_t>(tag) << 32) | static_cast<std::uint32_t>(message + 1);
}

TUTTI_HOST_DEVICE std::uint64_t linesOf(std::uint64_t bytes) {
  return bytes <= FlaggedLine::kPayload ? 1 : (bytes - 1) / FlaggedLine::kPayload + 1;
}

// The head and the words of the data.
TUTTI_HOST_DEVICE std::uint64_t wordsOf(std::uint64_t bytes) {
  return 1 + (bytes + kWordPayload - 1) / kWordPayload;
}

// What the high half of a word of a message says. A buffer holds every other message, so half the number
// tells them apart, for 2^32 messages: a word that no message has reached for exactly as long would be taken
// for new. Never zero, as untouched memory is.
TUTTI_HOST_DEVICE std::uint32_t wordFlagOf(std::uint64_t message) {
  return 0x80000000u | static_cast<std::uint32_t>(message >> 1);
}

TUTTI_HOST_DEVICE std::uint64_t wordOf(std::uint32_t flag, std::uint32_t data) {
  return (static_cast<std::uint64_t>(flag) << 32) | data;
}

// What `stride` is to be.
TUTTI_HOST_DEVICE std::uint64_t strideOf(MailboxFormat format, std::uint64_t slotBytes) {
  if (format == MailboxFormat::words) return wordsOf(slotBytes) * sizeof(std::uint64_t);
  return format == MailboxFormat::lines ? linesOf(slotBytes) * sizeof(FlaggedLine) : slotBytes;
}

}  // namespace tutti
