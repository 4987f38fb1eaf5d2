// How the executor gets the ends of its links: it names them, and whoever wires the communicator (in one
// process, through shared memory, over a network) hands out mailbox ends.
#pragma once

#include "base/mailbox_end.h"
#include "base/status.h"

namespace tutti {

struct LinkRequest {
  int peer = 0;  // the other rank; this rank itself for a self link
  int channel = 0;
  bool sends = false;
  MailboxFormat format = MailboxFormat::slots;
};

class LinkSource {
 public:
  virtual ~LinkSource() = default;

  // The end stays valid, and keeps its counters, as long as the source lives: plans that use the same link
  // share it. May allocate; called while a plan is made, never during a planned call.
  virtual Result<MailboxEnd*> open(const LinkRequest& request) = 0;

  // The largest message of a link.
  virtual std::uint64_t slotBytes() const = 0;
  virtual std::uint64_t lineBytes() const = 0;
};

}  // namespace tutti
