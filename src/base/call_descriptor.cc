// The words for a call; cold code.
#include "base/call_descriptor.h"

#include <fmt/format.h>

namespace tutti {

std::string describe(const CallDescriptor& call) {
  std::string text = nameOf(call.collective);
  if (call.collective != Collective::barrier) text += fmt::format(" of {} {}", call.count, nameOf(call.type));
  if (reduces(call.collective)) text += fmt::format(", {}", nameOf(call.operation));
  if (isRooted(call.collective)) text += fmt::format(", root {}", call.root);
  if (call.registrations != 0) text += fmt::format(", after {} registration(s)", call.registrations);
  return text + fmt::format(" (call {})", call.sequence);
}

}  // namespace tutti
