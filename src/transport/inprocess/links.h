// Links between ranks that are threads of one process: both ends are plain pointers into one block of memory.
// The hub is shared by the ranks of a communicator; whichever rank opens a link first makes both of its ends.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/link_source.h"
#include "transport/link_memory.h"
#include "transport/page_memory.h"

namespace tutti {

class InProcessHub {
 public:
  explicit InProcessHub(const LinkOptions& options) : options_(options) {}

  const LinkOptions& options() const { return options_; }

  // Any thread.
  Result<MailboxEnd*> open(int from, int to, int channel, MailboxFormat format, bool sends);
  std::uint64_t mailboxBytes() const;

 private:
  struct Link {
    PageMemory memory;
    MailboxEnd sender;
    MailboxEnd receiver;
  };
  using Key = std::tuple<int, int, int, MailboxFormat>;

  Result<std::unique_ptr<Link>> makeLink(MailboxFormat format) const;

  const LinkOptions options_;
  mutable std::mutex mutex_;  // guards links_; the ends themselves belong to the lanes that drive them
  std::map<Key, std::unique_ptr<Link>> links_;
  std::uint64_t mailboxBytes_ = 0;
};

// One rank's view of the hub.
class InProcessLinks : public LinkSource {
 public:
  InProcessLinks(std::shared_ptr<InProcessHub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}

  Result<MailboxEnd*> open(const LinkRequest& request) override;
  std::uint64_t slotBytes() const override { return hub_->options().slotBytes; }
  std::uint64_t lineBytes() const override { return hub_->options().lineBytes; }

 private:
  std::shared_ptr<InProcessHub> hub_;
  int rank_;
};

}  // namespace tutti
