// One connection of the rendezvous host, in its event loop: frames come and go, descriptors beside them. Asio
// waits; what is sent and received goes through local_socket.h. For host.cc alone: Asio takes long to compile.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define ASIO_STANDALONE
#define ASIO_NO_DEPRECATED
#define ASIO_DISABLE_FENCED_BLOCK  // one thread runs the loop; thread sanitizer knows no fences
#include <asio/awaitable.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>

#include "base/file_descriptor.h"
#include "runtime/rendezvous/frames.h"
#include "runtime/rendezvous/local_socket.h"

namespace tutti {

// Starts a coroutine; what it throws leaves the loop's run().
void spawn(asio::io_context& loop, asio::awaitable<void> coroutine);

// Until then, or until the timer is cancelled.
asio::awaitable<void> waitFor(asio::steady_timer& timer);

// An Asio object that waits for a descriptor which it does not own.
class Events {
 public:
  Events(asio::io_context& loop, int descriptor) : stream_(loop, descriptor) {}
  ~Events() { release(); }

  // Waits no more, and lets the descriptor be closed.
  void release() { stream_.release(); }
  // Whoever cancels leaves word in a flag: a cancelled wait looks like any other.
  void cancel();
  asio::awaitable<void> wait(asio::posix::stream_descriptor::wait_type event);

 private:
  asio::posix::stream_descriptor stream_;
};

struct Outgoing {
  std::shared_ptr<const std::string> frame;
  std::shared_ptr<const std::vector<FileDescriptor>> descriptors;  // null: none
  std::size_t sent = 0;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // `whenSent`: called whenever nothing is left to be sent.
  Connection(asio::io_context& loop, FileDescriptor accepted, std::function<void()> whenSent);

  enum class Received {
    frame,    // in frames()
    ended,    // by the peer, or by close()
    garbage,  // see garbage()
    dropped,  // descriptors that were sent: error() as of Moved::dropped
    failed,   // with error()
    unsent,   // the other direction: sendError()
  };

  // Until there is one whole frame, or will be none.
  asio::awaitable<Received> receive();
  FrameAssembler& frames() { return frames_; }
  int error() const { return error_; }
  const std::string& garbage() const { return garbage_; }
  // Of a stranger no descriptors are taken.
  void becomeKnown() {
    known = true;
    allowDescriptors(socket_.get());
  }
  // Those that have come since the last call.
  std::vector<FileDescriptor> takeDescriptors() { return std::exchange(arrived_, {}); }

  // At once, or when the kernel has room.
  void send(Outgoing outgoing);
  void send(std::string frame) { send({std::make_shared<const std::string>(std::move(frame)), nullptr, 0}); }
  // What has begun, then this frame, then the end.
  void sendLast(std::string frame);
  // This frame without memory, unless another has been sent in part.
  void sendNow(std::string_view frame) noexcept;
  bool allSent() const { return outbox_.empty(); }
  int sendError() const { return sendError_; }  // of the last try, or of what is unsent; 0: all went

  // Ends all waits; the socket goes with the object.
  void close();
  void shutdown();  // of the socket alone
  bool isClosed() const { return closed_; }

  const Peer& peer() const { return peer_; }
  asio::steady_timer& patience() { return patience_; }

  // What the host knows of it.
  bool known = false;       // its hello has come
  std::optional<int> rank;  // of a member
  std::optional<std::vector<FileDescriptor>> given;
  int took = -1;  // up to this rank
  bool hasAll = false;

 private:
  bool sendWhatGoes();
  static asio::awaitable<void> write(std::shared_ptr<Connection> self);

  asio::io_context& loop_;
  FileDescriptor socket_;
  const Peer peer_;
  Events events_;  // of socket_: goes first
  asio::steady_timer patience_;
  asio::steady_timer again_;  // to send, when the kernel had no room
  const std::function<void()> whenSent_;
  FrameAssembler frames_;
  std::vector<FileDescriptor> arrived_;
  int error_ = 0;
  int sendError_ = 0;
  std::string garbage_;
  std::deque<Outgoing> outbox_;
  bool writing_ = false;  // a coroutine does
  bool unsent_ = false;   // something never will be
  bool last_ = false;     // the end comes after the outbox
  bool closed_ = false;
};

}  // namespace tutti
