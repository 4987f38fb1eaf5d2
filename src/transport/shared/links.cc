// See links.h.
#include "transport/shared/links.h"

#include <fmt/format.h>

#include <utility>

namespace tutti {

SharedLinks::SharedLinks(const SharedLinksSetup& setup)
    : directory_(setup.directory),
      rank_(setup.rank),
      processOf_(setup.processOf.begin(), setup.processOf.end()),
      arenas_(setup.arenas.begin(), setup.arenas.end()),
      arena_(setup.arena),
      options_(setup.options) {}

Result<MailboxEnd*> SharedLinks::open(const LinkRequest& request) {
  TUTTI_TRY(carriesFormat(request.format));
  LinkName name = {request.peer, rank_, request.channel, request.format};
  if (request.sends) std::swap(name.from, name.to);
  if (closed_ || !directory_.hasRoomFor(name))
    return Status(
        Code::invalidUsage,
        fmt::format("no link from rank {} to rank {} on channel {}: {} ranks have room for {} channels{}",
                    name.from, name.to, name.channel, directory_.nranks(), directory_.channels(),
                    closed_ ? ", and these links are closed" : ". Use fewer channels"));

  auto& end = ends_[Key(name, request.sends)];
  if (end != nullptr) return end.get();
  auto place = directory_.find(name);
  if (!place) {
    const auto made = makeLink(name);
    if (!made.isOk()) return made.status();
    place = made.value();
  }
  const auto memory = memoryAt(name, *place);
  if (!memory.isOk()) return memory.status();
  end = std::make_unique<MailboxEnd>(linkEnd(memory.value(), name.format, options_));
  return end.get();
}

// Both ranks may do it at once: one publishes, the other takes what it finds.
Result<LinkPlace> SharedLinks::makeLink(const LinkName& name) {
  const std::size_t bytes = linkBytes(name.format, options_);
  const auto offset = arena_->allocate(bytes);
  if (!offset.isOk()) return offset.status();
  ArenaBlock block(*arena_, offset.value());
  if (made_.size() == made_.capacity())
    made_.reserve(2 * made_.size() + 1);  // what is published must be noted
  startLink(arena_->base() + offset.value(), options_);
  const LinkPlace mine = {processOf_[static_cast<std::size_t>(rank_)], offset.value()};
  const LinkPlace place = directory_.publish(name, mine);
  if (place == mine) {
    made_.push_back(block.keep());
    mailboxBytes_ += bytes;
  }
  return place;
}

// The directory is what peers write: nothing in it is taken for granted.
Result<std::byte*> SharedLinks::memoryAt(const LinkName& name, const LinkPlace& place) const {
  const auto processOf = [this](int rank) { return processOf_[static_cast<std::size_t>(rank)]; };
  const bool isOfAnEnd = place.process == processOf(name.from) || place.process == processOf(name.to);
  const std::size_t bytes = linkBytes(name.format, options_);
  if (isOfAnEnd) {
    const std::span<std::byte> arena = arenas_[static_cast<std::size_t>(place.process)];
    if (place.offset < arena.size() && bytes <= arena.size() - place.offset)
      return arena.data() + place.offset;
  }
  return Status(
      Code::remoteError,
      fmt::format("the link from rank {} to rank {} on channel {} is said to lie at {} in the shared "
                  "memory of process {}, where it cannot be: a process of this communicator has written "
                  "where it must not. Look for stray writes in the program",
                  name.from, name.to, name.channel, place.offset, place.process));
}

std::vector<std::uint64_t> SharedLinks::close() {
  closed_ = true;
  ends_.clear();
  directory_.leave(rank_);
  return std::exchange(made_, {});
}

}  // namespace tutti
