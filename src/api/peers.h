// The other processes of this host that share communicators with this one: their arenas, mapped once, and the news
// of their ends.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"
#include "runtime/service.h"
#include "transport/shared/peer_arena.h"

namespace tutti {

// One of them. Goes, with its mapping, when nobody holds it any more. Any thread.
class Peer : public std::enable_shared_from_this<Peer> {
 public:
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::span<std::byte> memory() const { return arena_.memory(); }
  bool isDead() const { return dead_.load(std::memory_order_acquire); }

  // `ended` runs once, on the service's thread, when the process has ended; now, if it has already. It must not
  // throw. It does not run once `owner` is gone, which it finds out by itself.
  void whenEnded(std::weak_ptr<void> owner, std::function<void()> ended);

 private:
  friend class Peers;
  Peer(PeerArena arena, Service& service) : arena_(std::move(arena)), service_(service) {}
  void end();

  const PeerArena arena_;
  Service& service_;
  Service::WatchId watch_ = 0;
  std::atomic<bool> dead_{false};
  std::mutex mutex_;  // guards what follows
  struct Listener {
    std::weak_ptr<void> owner;
    std::function<void()> ended;
  };
  std::vector<Listener> listeners_;
};

class Peers {
 public:
  // The process that goes by that token, which has sent its arena and its pidfd.
  Result<std::shared_ptr<Peer>> meet(const std::string& token, FileDescriptor arena, FileDescriptor pidfd,
                                     Service& service);
  // If it is known already.
  std::shared_ptr<Peer> find(const std::string& token);

 private:
  std::mutex mutex_;  // guards what follows
  std::map<std::string, std::weak_ptr<Peer>> peers_;
};

}  // namespace tutti
