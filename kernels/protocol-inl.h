// The two protocols of a mailbox: slots with credits, and flagged lines. Templates over the context that runs
// them, so that a host thread, a CUDA thread block and the emulators of the tests share every decision made
// here.
//
// In a block of several threads, each slot end is owned by one thread (its index in the lane % ntid), who
// alone looks at its counters outside the data phase; line ends are read by all threads, and advance() keeps
// their counters still while they do.
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

}  // namespace tutti
