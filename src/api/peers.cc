// See peers.h.
#include "api/peers.h"

#include <utility>

namespace tutti {

Peer::~Peer() {
  if (watch_ != 0) service_.forget(watch_);
}

void Peer::end() {
  std::vector<Listener> listeners;
  {
    const std::lock_guard lock(mutex_);
    dead_.store(true, std::memory_order_release);
    listeners.swap(listeners_);
  }
  for (const Listener& listener : listeners) listener.ended();
}

void Peer::whenEnded(std::weak_ptr<void> owner, std::function<void()> ended) {
  {
    const std::lock_guard lock(mutex_);
    if (!isDead()) {
      std::erase_if(listeners_, [](const Listener& listener) { return listener.owner.expired(); });
      listeners_.push_back({std::move(owner), std::move(ended)});
      return;
    }
  }
  ended();
}

std::shared_ptr<Peer> Peers::find(const std::string& token) {
  const std::lock_guard lock(mutex_);
  const auto known = peers_.find(token);
  return known == peers_.end() ? nullptr : known->second.lock();
}

Result<std::shared_ptr<Peer>> Peers::meet(const std::string& token, FileDescriptor arena,
                                          FileDescriptor pidfd, Service& service) {
  const std::lock_guard lock(mutex_);
  std::erase_if(peers_, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<Peer>& known = peers_[token];
  if (auto peer = known.lock()) return peer;
  auto mapped = PeerArena::map(std::move(arena));
  if (!mapped.isOk()) return mapped.status();
  std::shared_ptr<Peer> peer(new Peer(std::move(mapped).value(), service));
  const auto watch = service.watch(std::move(pidfd), [weak = std::weak_ptr(peer)] {
    if (const auto alive = weak.lock()) alive->end();
  });
  if (!watch.isOk()) return watch.status();
  peer->watch_ = watch.value();
  known = peer;
  return peer;
}

}  // namespace tutti
