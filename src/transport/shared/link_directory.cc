// See link_directory.h.
#include "transport/shared/link_directory.h"

#include "base/memory_order.h"

namespace tutti {
namespace {

constexpr std::size_t kFormats = 2;
constexpr std::uint64_t kUnit = 4096;  // offsets are whole pages, of at least that size
constexpr int kOffsetBits = 40;

constexpr std::uint64_t kLeft = 1;
constexpr std::uint64_t kForgot = 2;

// Never zero: that is no link.
std::uint64_t packed(const LinkPlace& place) {
  return static_cast<std::uint64_t>(place.process + 1) << kOffsetBits | place.offset / kUnit;
}

LinkPlace unpacked(std::uint64_t word) {
  return {static_cast<int>(word >> kOffsetBits) - 1,
          (word & ((std::uint64_t{1} << kOffsetBits) - 1)) * kUnit};
}

std::size_t entriesFor(int nranks, int channels) {
  return static_cast<std::size_t>(nranks) * static_cast<std::size_t>(nranks) *
         static_cast<std::size_t>(channels) * kFormats;
}

}  // namespace

std::size_t LinkDirectory::bytesFor(int nranks, int channels) {
  return (static_cast<std::size_t>(nranks) + entriesFor(nranks, channels)) * sizeof(std::uint64_t);
}

LinkDirectory::LinkDirectory(std::byte* memory, int nranks, int channels)
    : stages_(reinterpret_cast<std::uint64_t*>(memory), static_cast<std::size_t>(nranks)),
      entries_(stages_.data() + nranks, entriesFor(nranks, channels)),
      nranks_(nranks),
      channels_(channels) {}

bool LinkDirectory::hasRoomFor(const LinkName& name) const {
  const auto isRank = [this](int rank) { return rank >= 0 && rank < nranks_; };
  return isRank(name.from) && isRank(name.to) && name.channel >= 0 && name.channel < channels_ &&
         name.format != MailboxFormat::words;
}

std::uint64_t& LinkDirectory::entryOf(const LinkName& name) const {
  const auto row = static_cast<std::size_t>(name.from) * static_cast<std::size_t>(nranks_) +
                   static_cast<std::size_t>(name.to);
  const auto column =
      static_cast<std::size_t>(name.channel) * kFormats + (name.format == MailboxFormat::lines ? 1 : 0);
  return entries_[row * static_cast<std::size_t>(channels_) * kFormats + column];
}

std::optional<LinkPlace> LinkDirectory::find(const LinkName& name) const {
  const std::uint64_t word = loadAcquire(&entryOf(name));
  if (word == 0) return {};
  return unpacked(word);
}

LinkPlace LinkDirectory::publish(const LinkName& name, const LinkPlace& place) {
  return unpacked(claimOnce(&entryOf(name), packed(place)));
}

void LinkDirectory::leave(int rank) {
  raise(rank, kLeft);
}

void LinkDirectory::forget(int rank) {
  raise(rank, kForgot);
}

void LinkDirectory::raise(int rank, std::uint64_t stage) {
  std::uint64_t& mine = stages_[static_cast<std::size_t>(rank)];
  if (loadAcquire(&mine) < stage) storeRelease(&mine, stage);
}

bool LinkDirectory::allAre(std::uint64_t stage) const {
  for (const std::uint64_t& mine : stages_) {
    if (loadAcquire(&mine) < stage) return false;
  }
  return true;
}

bool LinkDirectory::allLeft() const {
  return allAre(kLeft);
}

bool LinkDirectory::allForgot() const {
  return allAre(kForgot);
}

}  // namespace tutti
