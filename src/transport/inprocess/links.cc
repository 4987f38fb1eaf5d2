// See links.h.
#include "transport/inprocess/links.h"

namespace tutti {

Result<std::unique_ptr<InProcessHub::Link>> InProcessHub::makeLink(MailboxFormat format) const {
  TUTTI_TRY(carriesFormat(format));
  auto memory = PageMemory::allocate(linkBytes(format, options_));
  if (!memory.isOk()) return memory.status();

  auto link = std::make_unique<Link>();
  link->memory = std::move(memory).value();
  startLink(link->memory.data(), options_);
  link->sender = link->receiver = linkEnd(link->memory.data(), format, options_);
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
