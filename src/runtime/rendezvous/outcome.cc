// See outcome.h.
#include "runtime/rendezvous/outcome.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/refused.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U  // Linux 6.3
#endif

namespace tutti {

Result<FileDescriptor> makeOutcome() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  FileDescriptor file(memfd_create("tutti-outcome", kFlags | MFD_NOEXEC_SEAL));
  if (!file && errno == EINVAL) file = FileDescriptor(memfd_create("tutti-outcome", kFlags));
  if (!file) return refused("no place for the outcome of the meeting", "memfd_create", errno);
  return file;
}

Outcome decide(const FileDescriptor& outcome, Outcome wanted) noexcept {
  fcntl(outcome.get(), F_ADD_SEALS, F_SEAL_SEAL | (wanted == Outcome::met ? F_SEAL_GROW : F_SEAL_SHRINK));
  const int seals = fcntl(outcome.get(), F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_GROW) != 0 ? Outcome::met : Outcome::failed;
}

}  // namespace tutti
