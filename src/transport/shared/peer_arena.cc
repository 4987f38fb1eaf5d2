// See peer_arena.h.
#include "transport/shared/peer_arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <string>
#include <utility>

#include "transport/shared/arena.h"

namespace tutti {
namespace {

Status untrusted(const std::string& why) {
  return Status(
      Code::remoteError,
      fmt::format("what a peer sent as its shared memory cannot be trusted: {}. Use the same version "
                  "of tutti in all processes",
                  why));
}

// What mapping takes for granted.
Result<std::size_t> trustedBytes(int file) {
  struct stat status = {};
  struct statfs system = {};
  if (fstat(file, &status) != 0 || fstatfs(file, &system) != 0) return untrusted("it is no open file");
  if (!S_ISREG(status.st_mode) || system.f_type != TMPFS_MAGIC) return untrusted("it is no file in memory");
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & Arena::kSeals) != Arena::kSeals)
    return untrusted("it is not sealed against shrinking and growing");
  if ((seals & ~Arena::kSeals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0)
    return untrusted("it cannot be written");
  if ((fcntl(file, F_GETFL) & O_ACCMODE) != O_RDWR) return untrusted("it is not open to read and write");
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (status.st_size <= 0 || bytes > PeerArena::kMostBytes || bytes % 4096 != 0)
    return untrusted(fmt::format("its size is {} bytes", status.st_size));
  return bytes;
}

}  // namespace

Result<PeerArena> PeerArena::map(FileDescriptor file) {
  const auto bytes = trustedBytes(file.get());
  if (!bytes.isOk()) return bytes.status();
  auto mapping = SharedMapping::map(file.get(), bytes.value());
  if (!mapping.isOk()) return mapping.status();
  return PeerArena(std::move(mapping).value());
}

}  // namespace tutti
