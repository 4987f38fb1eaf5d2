// The protocols of a mailbox: slots with credits, flagged lines, and flagged words. Templates over the context
// that runs them, so that a host thread, a CUDA thread block and the emulators of the tests share every
// decision made here.
//
// In a block of several threads, each slot end is owned by one thread (its index in the lane % ntid), who
// alone looks at its counters outside the data phase; ends of lines and words are read by all threads, and
// advance() keeps their counters still while they do.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/mailbox_end.h"
#include "kernels/copy_bits.h"
#include "kernels/lane.h"

namespace tutti {

// True when the flag announces the wanted message. The right number under another tag is a message of another
// call: the context is told, and the message is never taken.
template <class Context>
TUTTI_HOST_DEVICE bool flagArrived(Context& context, const MailboxEnd& end, const std::uint64_t* flag,
                                   std::uint32_t tag) {
  const std::uint64_t seen = context.loadAcquire(flag);
  const std::uint64_t wanted = flagOf(end.messages, tag);
  if (seen == wanted) return true;
  if (static_cast<std::uint32_t>(seen) == static_cast<std::uint32_t>(wanted)) context.suspect(end);
  return false;
}

template <class Context>
TUTTI_HOST_DEVICE bool slotArrived(Context& context, const MailboxEnd& end, std::uint64_t bytes,
                                   std::uint32_t tag) {
  const SlotHeader& header = end.headers[end.slot];
  if (!flagArrived(context, end, &header.flag, tag)) return false;
  if (header.bytes == bytes) return true;
  context.suspect(end);
  return false;
}

template <class Context>
TUTTI_HOST_DEVICE bool slotFree(Context& context, MailboxEnd& end) {
  if (end.messages - end.creditSeen < end.nslots) return true;
  end.creditSeen = context.loadAcquire(end.credit);
  return end.messages - end.creditSeen < end.nslots;
}

// Of the message that is posted or taken next.
TUTTI_HOST_DEVICE std::byte* slotAt(const MailboxEnd& end) {
  return end.slots + end.slot * end.stride;
}
TUTTI_HOST_DEVICE FlaggedLine* linesAt(const MailboxEnd& end) {
  return reinterpret_cast<FlaggedLine*>(slotAt(end));
}

template <class Context>
TUTTI_HOST_DEVICE bool linesArrived(Context& context, const MailboxEnd& end, std::uint64_t bytes,
                                    std::uint32_t tag) {
  const FlaggedLine* lines = linesAt(end);
  const std::uint64_t nlines = linesOf(bytes);
  for (std::uint64_t i = context.tid(); i < nlines; i += context.ntid()) {
    if (!flagArrived(context, end, &lines[i].flag, tag)) return false;
  }
  return true;
}

template <class Context>
TUTTI_HOST_DEVICE void postSlot(Context& context, MailboxEnd& end, std::uint64_t bytes, std::uint32_t tag) {
  SlotHeader& header = end.headers[end.slot];
  header.bytes = bytes;
  context.storeRelease(&header.flag, flagOf(end.messages, tag));
}

template <class Context>
TUTTI_HOST_DEVICE void giveSlotBack(Context& context, const MailboxEnd& end) {
  context.storeRelease(end.credit, end.messages + 1);
}

template <class Context>
TUTTI_HOST_DEVICE void postLines(Context& context, const MailboxEnd& end, std::uint64_t bytes,
                                 std::uint32_t tag) {
  FlaggedLine* lines = linesAt(end);
  const std::uint64_t nlines = linesOf(bytes);
  const std::uint64_t flag = flagOf(end.messages, tag);
  for (std::uint64_t i = context.tid(); i < nlines; i += context.ntid())
    context.storeRelease(&lines[i].flag, flag);
}

TUTTI_HOST_DEVICE void countMessage(MailboxEnd& end, std::uint64_t bytes) {
  ++end.messages;
  end.slot = end.slot + 1 == end.nslots ? 0 : end.slot + 1;
  end.linesTaken = 0;
  end.bytes += bytes;
}

// One host thread takes the lines of a message as they arrive and gathers their payload in `to`; what it has
// taken counts on from call to call, until the message is whole. Taking them early is what makes lines fast:
// each crosses to this core once, while the sender still fills the next ones.
template <class Context>
bool takeLines(Context& context, MailboxEnd& end, std::byte* to, std::uint64_t bytes, std::uint32_t tag) {
  const FlaggedLine* lines = linesAt(end);
  const std::uint64_t whole = bytes / FlaggedLine::kPayload;
  for (; end.linesTaken < whole; ++end.linesTaken) {
    const FlaggedLine& line = lines[end.linesTaken];
    if (!flagArrived(context, end, &line.flag, tag)) return false;
    std::memcpy(to + end.linesTaken * FlaggedLine::kPayload, line.payload, FlaggedLine::kPayload);
  }
  if (end.linesTaken == linesOf(bytes)) return true;
  const FlaggedLine& last = lines[end.linesTaken];
  if (!flagArrived(context, end, &last.flag, tag)) return false;
  std::memcpy(to + whole * FlaggedLine::kPayload, last.payload, bytes % FlaggedLine::kPayload);
  ++end.linesTaken;
  return true;
}

// The other side: each line is announced as soon as it is filled.
template <class Context>
void fillLines(Context& context, const MailboxEnd& end, const std::byte* from, std::uint64_t bytes,
               std::uint32_t tag) {
  FlaggedLine* line = linesAt(end);
  const std::uint64_t flag = flagOf(end.messages, tag);
  for (; bytes > FlaggedLine::kPayload;
       bytes -= FlaggedLine::kPayload, from += FlaggedLine::kPayload, ++line) {
    std::memcpy(line->payload, from, FlaggedLine::kPayload);
    context.storeRelease(&line->flag, flag);
  }
  copyFewBits(from, line->payload, bytes);
  context.storeRelease(&line->flag, flag);
}

// Words. What is loaded and stored is relaxed: flag and data are one access, so a word needs no order with
// another one, nor with anything else, and a message with data orders nothing but itself. An empty message is
// a signal and orders what came before it, as in every format.
//
// Why two buffers are enough, as for lines, although nothing is ordered: a thread has seen the flag of each word
// that it took before it came to the barrier at the end of isReady() (the word is never loaded again), and
// what the rank sends afterwards, of which the next writer of the buffer has heard (the schedule is closed),
// is stored behind that barrier; stores are not made on a guess. If a machine swapped them nevertheless, the
// wanted flag would be gone, and the call would wait: wrong data cannot come of it. Both writers of a word
// are threads of one block, with barriers between them.
//
// The threads of a block share the words of all messages of a step in turn: `turn` is the thread's first word
// of this message, and then of the next one.
TUTTI_HOST_DEVICE std::uint64_t* wordsAt(const MailboxEnd& end) {
  return reinterpret_cast<std::uint64_t*>(slotAt(end));
}

// The right number with another tag is a message of another call. The tag in the head vouches for the whole
// message: a call sends one message on a link, and a rank sends what it sends in one order.
template <class Context>
TUTTI_HOST_DEVICE bool headArrived(Context& context, const MailboxEnd& end, std::uint64_t bytes,
                                   std::uint32_t tag) {
  const std::uint64_t* head = wordsAt(end);
  const std::uint32_t flag = wordFlagOf(end.messages);
  const std::uint64_t seen = bytes == 0 ? context.loadAcquire(head) : context.loadRelaxed(head);
  if (seen == wordOf(flag, tag)) return true;
  if (seen >> 32 == flag) context.suspect(end);
  return false;
}

// Gathers the data of this thread's words in `to`, which is aligned to a word and has room for the last one
// as a whole. False: one of them has not arrived; then all are to be taken again.
template <class Context>
TUTTI_HOST_DEVICE bool takeWords(Context& context, const MailboxEnd& end, std::byte* to, std::uint64_t bytes,
                                 std::uint32_t tag, std::uint64_t& turn) {
  const std::uint64_t* words = wordsAt(end);
  const std::uint64_t nwords = wordsOf(bytes);
  const std::uint32_t flag = wordFlagOf(end.messages);
  if (turn == 0) {
    if (!headArrived(context, end, bytes, tag)) return false;
    turn += context.ntid();
  }
  for (; turn < nwords; turn += context.ntid()) {
    const std::uint64_t seen = context.loadRelaxed(&words[turn]);
    if (seen >> 32 != flag) return false;
    const auto data = static_cast<std::uint32_t>(seen);
    std::memcpy(__builtin_assume_aligned(to + (turn - 1) * kWordPayload, kWordPayload), &data, kWordPayload);
  }
  turn -= nwords;
  return true;
}

// The first 4 bytes, or as many as there are.
TUTTI_HOST_DEVICE std::uint32_t gatherWord(const std::byte* from, std::uint64_t bytes) {
  std::uint32_t data = 0;
  if (bytes >= kWordPayload && reinterpret_cast<std::uintptr_t>(from) % kWordPayload == 0) {
    std::memcpy(&data, __builtin_assume_aligned(from, kWordPayload), kWordPayload);
    return data;
  }
  for (std::uint32_t i = 0; i < kWordPayload && i < bytes; ++i)
    data |= static_cast<std::uint32_t>(from[i]) << 8 * i;
  return data;
}

template <class Context>
TUTTI_HOST_DEVICE void postWords(Context& context, const MailboxEnd& end, const std::byte* from,
                                 std::uint64_t bytes, std::uint32_t tag, std::uint64_t& turn) {
  std::uint64_t* words = wordsAt(end);
  const std::uint64_t nwords = wordsOf(bytes);
  const std::uint32_t flag = wordFlagOf(end.messages);
  if (turn == 0) {
    if (bytes == 0)
      context.storeRelease(words, wordOf(flag, tag));
    else
      context.storeRelaxed(words, wordOf(flag, tag));
    turn += context.ntid();
  }
  for (; turn < nwords; turn += context.ntid()) {
    const std::uint64_t done = (turn - 1) * kWordPayload;
    context.storeRelaxed(&words[turn], wordOf(flag, gatherWord(from + done, bytes - done)));
  }
  turn -= nwords;
}

}  // namespace tutti
