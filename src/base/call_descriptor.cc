// The bytes and the words of a call; cold code.
#include "base/call_descriptor.h"

#include <fmt/format.h>

namespace tutti {

std::uint64_t inputBytesOf(const CallDescriptor& call, int rank, int nranks) {
  if (call.collective == Collective::barrier) return 0;
  if (call.collective == Collective::broadcast && rank != call.root) return 0;
  return call.count * bytesOf(call.type) *
         static_cast<std::uint64_t>(inputSegmentsOf(call.collective, nranks));
}

std::uint64_t outputBytesOf(const CallDescriptor& call, int rank, int nranks) {
  if (call.collective == Collective::barrier) return 0;
  if (call.collective == Collective::reduce && rank != call.root) return 0;
  return call.count * bytesOf(call.type) *
         static_cast<std::uint64_t>(outputSegmentsOf(call.collective, nranks));
}

std::string describe(const CallDescriptor& call) {
  std::string text = nameOf(call.collective);
  if (call.collective != Collective::barrier) text += fmt::format(" of {} {}", call.count, nameOf(call.type));
  if (reduces(call.collective)) text += fmt::format(", {}", nameOf(call.operation));
  if (isRooted(call.collective)) text += fmt::format(", root {}", call.root);
  if (call.registrations != 0) text += fmt::format(", after {} registration(s)", call.registrations);
  return text + fmt::format(" (call {})", call.sequence);
}

}  // namespace tutti
