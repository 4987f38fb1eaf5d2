// See link_memory.h.
#include "transport/link_memory.h"

namespace tutti {
namespace {

std::uint64_t messageBytes(MailboxFormat format, const LinkOptions& options) {
  return format == MailboxFormat::lines ? options.lineBytes : options.slotBytes;
}

std::uint32_t slotsOf(MailboxFormat format, const LinkOptions& options) {
  return format == MailboxFormat::lines ? 2 : options.nslots;
}

std::size_t headerBytes(MailboxFormat format, const LinkOptions& options) {
  return format == MailboxFormat::lines ? 0 : options.nslots * sizeof(SlotHeader);
}

}  // namespace

Status carriesFormat(MailboxFormat format) {
  if (format != MailboxFormat::words) return {};
  return Status(Code::internalError,
                "ranks of a host do not exchange words: a fault of tutti, please report it");
}

std::size_t linkBytes(MailboxFormat format, const LinkOptions& options) {
  return kApart + headerBytes(format, options) +
         slotsOf(format, options) * strideOf(format, messageBytes(format, options));
}

void startLink(std::byte* memory, const LinkOptions& options) {
  *reinterpret_cast<std::uint64_t*>(memory) = options.firstMessage;
}

MailboxEnd linkEnd(std::byte* memory, MailboxFormat format, const LinkOptions& options) {
  MailboxEnd end;
  end.format = format;
  end.nslots = slotsOf(format, options);
  end.slotBytes = messageBytes(format, options);
  end.stride = strideOf(format, end.slotBytes);
  end.credit = reinterpret_cast<std::uint64_t*>(memory);
  if (format == MailboxFormat::slots) end.headers = reinterpret_cast<SlotHeader*>(memory + kApart);
  end.slots = memory + kApart + headerBytes(format, options);
  end.messages = options.firstMessage;
  end.slot = static_cast<std::uint32_t>(options.firstMessage % end.nslots);
  end.creditSeen = options.firstMessage;
  return end;
}

}  // namespace tutti
