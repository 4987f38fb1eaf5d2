// Where the links of a communicator lie, in memory that all of its processes share: one word for each link that
// may be (from, to, channel, format), zero until somebody has made it. It holds offsets and no addresses, and
// zeroed memory is an empty directory.
//
// It also says when memory may go. Whoever opened a link first made it, and a peer may still read its last
// message, or give back its last slot, long after that. So:
//   1. a rank that will never touch a link again calls leave();
//   2. once allLeft(), each rank gives back what it has made, and calls forget(): it will never touch the
//      directory again;
//   3. once allForgot(), the process that has the directory in its arena gives back the directory.
// For ranks of a process that is dead, whoever knows it calls forget(rank). If nobody does, the memory stays
// taken until its process ends, which is safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/mailbox_end.h"

namespace tutti {

struct LinkName {
  int from = 0;
  int to = 0;
  int channel = 0;
  MailboxFormat format = MailboxFormat::slots;  // or lines

  auto operator<=>(const LinkName&) const = default;
};

// In the arena of which process, and where.
struct LinkPlace {
  int process = 0;
  std::uint64_t offset = 0;  // of a whole page

  bool operator==(const LinkPlace&) const = default;
};

// One process's view of it; any thread.
class LinkDirectory {
 public:
  // The schedules that the library chooses use two channels.
  static constexpr int kChannels = 4;

  static std::size_t bytesFor(int nranks, int channels = kChannels);

  // `memory`: bytesFor() bytes, at a multiple of 8, which outlive this object.
  LinkDirectory(std::byte* memory, int nranks, int channels = kChannels);

  int nranks() const { return nranks_; }
  int channels() const { return channels_; }
  bool hasRoomFor(const LinkName& name) const;

  // Of links that it has room for. What lies at the place, as its maker left it, is seen by whoever finds it.
  std::optional<LinkPlace> find(const LinkName& name) const;
  // Where the link is now: at `place`, or where somebody else was quicker.
  LinkPlace publish(const LinkName& name, const LinkPlace& place);

  void leave(int rank);
  void forget(int rank);
  bool allLeft() const;
  bool allForgot() const;

 private:
  std::uint64_t& entryOf(const LinkName& name) const;
  void raise(int rank, std::uint64_t stage);
  bool allAre(std::uint64_t stage) const;

  std::span<std::uint64_t> stages_;  // one for each rank
  std::span<std::uint64_t> entries_;
  int nranks_;
  int channels_;
};

}  // namespace tutti
