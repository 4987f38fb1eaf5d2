// The links of an emulated communicator: mailboxes in plain memory with room behind them that nobody may
// touch, and with counters that start where the test says, as if that many messages had passed before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/mailbox_end.h"

namespace tutti::emulation {

struct LinkShape {
  MailboxFormat format = MailboxFormat::slots;
  std::uint32_t nslots = 2;
  std::uint64_t slotBytes = 16;
  std::uint64_t firstMessage =
      0;  // each link starts a few messages after it, so that they wrap at different times
};

inline const char* nameOf(MailboxFormat format) {
  constexpr const char* names[] = {"slots", "lines", "words"};
  return names[static_cast<int>(format)];
}

class Links {
 public:
  explicit Links(const LinkShape& shape) : shape_(shape) {}

  // Made on first use. Stays where it is.
  MailboxEnd* end(int from, int to, int channel, bool sends);

  // What is not as it has to be when all calls have ended: one sentence each.
  std::vector<std::string> faults() const;

 private:
  struct Link;
  struct DeleteLink {
    void operator()(Link* link) const;
  };

  const LinkShape shape_;
  std::map<std::tuple<int, int, int>, std::unique_ptr<Link, DeleteLink>> links_;
};

}  // namespace tutti::emulation
