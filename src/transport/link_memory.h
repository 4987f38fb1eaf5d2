// The memory of a link, and how its parts lie there: [credit][headers of the slots][slots or lines], what each
// end writes apart from the other's. Whoever carries links brings the memory; both ends find their parts here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mailbox_end.h"
#include "base/status.h"

namespace tutti {

struct LinkOptions {
  std::uint64_t slotBytes = 64 * 1024;
  std::uint32_t nslots = 4;
  std::uint64_t lineBytes = 2 * 1024;
  std::uint64_t firstMessage = 0;  // tests start the counters just below their wrap
};

// internalError for words: they are for thread blocks of a GPU.
Status carriesFormat(MailboxFormat format);

std::size_t linkBytes(MailboxFormat format, const LinkOptions& options);

// Makes zeroed memory of linkBytes() ready, before either end looks at it.
void startLink(std::byte* memory, const LinkOptions& options);

// Either end of the link, before its first message. `memory` lies on a cache line, wherever it is mapped.
MailboxEnd linkEnd(std::byte* memory, MailboxFormat format, const LinkOptions& options);

}  // namespace tutti
