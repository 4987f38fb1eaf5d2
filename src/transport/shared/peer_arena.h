// The arena of another process, mapped here: whole, to read and write, until this object ends, whatever becomes
// of the other process.
#pragma once

#include <cstddef>
#include <span>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "transport/shared/shared_mapping.h"

namespace tutti {

class PeerArena {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 40;

  // Takes what a peer has sent as its arena, and closes it. remoteError: it is none that can be trusted: its
  // owner could shrink it, and whoever touches it would then die of SIGBUS. systemError: it does not fit in
  // the address space.
  static Result<PeerArena> map(FileDescriptor file);

  std::span<std::byte> memory() const { return mapping_.memory(); }

 private:
  explicit PeerArena(SharedMapping mapping) : mapping_(std::move(mapping)) {}

  SharedMapping mapping_;
};

}  // namespace tutti
