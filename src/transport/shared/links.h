// Links between ranks of one host, whatever process they are in: both ends point into one block of memory, which
// lies in the arena of whichever process opened the link first. Nobody waits for the peer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "base/link_source.h"
#include "transport/link_memory.h"
#include "transport/shared/arena.h"
#include "transport/shared/link_directory.h"

namespace tutti {

struct SharedLinksSetup {
  LinkDirectory directory;  // the communicator's, as this process sees it
  int rank = 0;
  std::span<const int> processOf;  // of each rank: an index in `arenas`
  std::span<const std::span<std::byte>>
      arenas;              // of each process, where this one has mapped it; own included
  Arena* arena = nullptr;  // this process's own
  LinkOptions options;     // the same on all ranks
};

// The ends of one rank, used by one thread at a time, as the rank's calls are. The arenas outlive it; the spans
// are copied.
//
// Links stay where they are when this object ends, because peers may be using them. close() names what this
// rank made, for link_directory.h says when it may go.
class SharedLinks : public LinkSource {
 public:
  explicit SharedLinks(const SharedLinksSetup& setup);
  SharedLinks(const SharedLinks&) = delete;
  SharedLinks& operator=(const SharedLinks&) = delete;

  // invalidUsage: the directory has no room for the link. systemError: no memory. remoteError: the directory
  // holds what no rank of this communicator can have written.
  Result<MailboxEnd*> open(const LinkRequest& request) override;
  std::uint64_t slotBytes() const override { return options_.slotBytes; }
  std::uint64_t lineBytes() const override { return options_.lineBytes; }

  // Of the links that this rank made.
  std::uint64_t mailboxBytes() const { return mailboxBytes_; }

  // Ends all ends, says so in the directory (LinkDirectory::leave), and answers what this rank made: offsets in
  // its process's arena, to be freed once LinkDirectory::allLeft(). Nothing can be opened afterwards.
  std::vector<std::uint64_t> close();

 private:
  using Key = std::tuple<LinkName, bool>;  // and whether the end sends

  Result<LinkPlace> makeLink(const LinkName& name);
  Result<std::byte*> memoryAt(const LinkName& name, const LinkPlace& place) const;

  LinkDirectory directory_;
  const int rank_;
  const std::vector<int> processOf_;
  const std::vector<std::span<std::byte>> arenas_;
  Arena* const arena_;
  const LinkOptions options_;
  std::map<Key, std::unique_ptr<MailboxEnd>> ends_;
  std::vector<std::uint64_t> made_;
  std::uint64_t mailboxBytes_ = 0;
  bool closed_ = false;
};

}  // namespace tutti
