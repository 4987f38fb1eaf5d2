// Memory of a link, what each end writes apart from the other's: [credit][headers of the slots][slots or lines].
#include "transport/inprocess/links.h"

namespace tutti {

Result<std::unique_ptr<InProcessHub::Link>> InProcessHub::makeLink(MailboxFormat format) const {
  if (format == MailboxFormat::words)
    return Status(Code::internalError,
                  "ranks that are threads do not exchange words: a fault of tutti, please report it");
  const bool lines = format == MailboxFormat::lines;
  const std::uint32_t nslots = lines ? 2 : options_.nslots;
  const std::uint64_t dataBytes = strideOf(format, lines ? options_.lineBytes : options_.slotBytes);
  const std::size_t headerBytes = lines ? 0 : nslots * sizeof(SlotHeader);
  const std::size_t bytes = kApart + headerBytes + nslots * dataBytes;
  auto memory = PageMemory::allocate(bytes);
  if (!memory.isOk()) return memory.status();

  auto link = std::make_unique<Link>();
  link->memory = std::move(memory).value();
  std::byte* base = link->memory.data();
  MailboxEnd end;
  end.format = format;
  end.nslots = nslots;
  end.slotBytes = lines ? options_.lineBytes : options_.slotBytes;
  end.stride = dataBytes;
  end.credit = reinterpret_cast<std::uint64_t*>(base);
  end.headers = lines ? nullptr : reinterpret_cast<SlotHeader*>(base + kApart);
  end.slots = base + kApart + headerBytes;
  end.messages = options_.firstMessage;
  end.slot = static_cast<std::uint32_t>(options_.firstMessage % nslots);
  end.creditSeen = options_.firstMessage;
  *end.credit = options_.firstMessage;
  link->sender = end;
  link->receiver = end;
  return link;
}

Result<MailboxEnd*> InProcessHub::open(int from, int to, int channel, MailboxFormat format, bool sends) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Link>& link = links_[Key(from, to, channel, format)];
  if (link == nullptr) {
    auto made = makeLink(format);
    if (!made.isOk()) return made.status();
    link = std::move(made).value();
    mailboxBytes_ += link->memory.bytes();
  }
  return sends ? &link->sender : &link->receiver;
}

std::uint64_t InProcessHub::mailboxBytes() const {
  const std::lock_guard lock(mutex_);
  return mailboxBytes_;
}

Result<MailboxEnd*> InProcessLinks::open(const LinkRequest& request) {
  const int from = request.sends ? rank_ : request.peer;
  const int to = request.sends ? request.peer : rank_;
  return hub_->open(from, to, request.channel, request.format, request.sends);
}

}  // namespace tutti
