// See connection.h.
#include "runtime/rendezvous/connection.h"

#include <sys/socket.h>

#include <asio/co_spawn.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <cerrno>
#include <exception>
#include <utility>

namespace tutti {

void spawn(asio::io_context& loop, asio::awaitable<void> coroutine) {
  asio::co_spawn(loop, std::move(coroutine), [](std::exception_ptr thrown) {
    if (thrown) std::rethrow_exception(thrown);
  });
}

asio::awaitable<void> waitFor(asio::steady_timer& timer) {
  std::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void Events::cancel() {
  std::error_code ignored;
  stream_.cancel(ignored);
}

asio::awaitable<void> Events::wait(asio::posix::stream_descriptor::wait_type event) {
  std::error_code ignored;
  co_await stream_.async_wait(event, asio::redirect_error(asio::use_awaitable, ignored));
}

Connection::Connection(asio::io_context& loop, FileDescriptor accepted, std::function<void()> whenSent)
    : loop_(loop),
      socket_(std::move(accepted)),
      peer_(peerOf(socket_.get())),
      events_(loop, socket_.get()),
      patience_(loop),
      again_(loop),
      whenSent_(std::move(whenSent)) {}

void Connection::close() {
  closed_ = true;
  outbox_.clear();
  shutdown();
  events_.cancel();
  patience_.cancel();
  again_.cancel();
}

void Connection::shutdown() {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

asio::awaitable<Connection::Received> Connection::receive() {
  while (!closed_) {
    if (unsent_) co_return Received::unsent;
    const Transfer received = receivePart(socket_.get(), frames_.room(), known ? &arrived_ : nullptr);
    if (received.moved == Moved::blocked) {
      co_await events_.wait(asio::posix::stream_descriptor::wait_read);
    } else if (received.moved == Moved::some) {
      if (const Status status = frames_.advance(received.bytes); !status.isOk()) {
        garbage_ = status.message();
        co_return Received::garbage;
      }
      if (frames_.complete()) co_return Received::frame;
    } else if (received.moved == Moved::ended) {
      break;
    } else {
      error_ = received.error;
      co_return received.moved == Moved::dropped ? Received::dropped : Received::failed;
    }
  }
  co_return Received::ended;
}

void Connection::send(Outgoing outgoing) {
  if (closed_) return;
  outbox_.push_back(std::move(outgoing));
  if (writing_ || sendWhatGoes()) return;
  writing_ = true;
  spawn(loop_, write(shared_from_this()));
}

void Connection::sendLast(std::string frame) {
  while (outbox_.size() > 1) outbox_.pop_back();
  if (!outbox_.empty() && outbox_.front().sent == 0) outbox_.pop_back();
  last_ = true;
  send(std::move(frame));
}

void Connection::sendNow(std::string_view frame) noexcept {
  if (outbox_.empty() || outbox_.front().sent == 0) (void)sendPart(socket_.get(), frame, {});
}

// What the kernel takes at once. False: something is left.
bool Connection::sendWhatGoes() {
  static const std::vector<FileDescriptor> none;
  while (!outbox_.empty()) {
    Outgoing& next = outbox_.front();
    const std::string_view rest = std::string_view(*next.frame).substr(next.sent);
    const Transfer sent =
        sendPart(socket_.get(), rest, next.descriptors != nullptr ? *next.descriptors : none);
    if (!unsent_) sendError_ = sent.error;
    if (sent.moved == Moved::some) {
      next.descriptors = nullptr;
      next.sent += sent.bytes;
      if (next.sent == next.frame->size()) outbox_.pop_front();
    } else if (sent.moved == Moved::ended) {
      outbox_.clear();  // why, the reader of this connection finds out
    } else if (sent.moved == Moved::blocked || mayPass(sent.error)) {
      return false;
    } else {
      outbox_.clear();
      unsent_ = true;
      events_.cancel();
    }
  }
  if (last_) ::shutdown(socket_.get(), SHUT_WR);
  whenSent_();
  return true;
}

asio::awaitable<void> Connection::write(std::shared_ptr<Connection> self) {
  while (!self->closed_ && !self->sendWhatGoes()) {
    co_await self->events_.wait(asio::posix::stream_descriptor::wait_write);
    // Writable, and still not sent: too many descriptors are under way, or no memory.
    if (self->closed_ || self->sendWhatGoes()) break;
    self->again_.expires_after(std::chrono::milliseconds(2));
    co_await waitFor(self->again_);
  }
  self->writing_ = false;
}

}  // namespace tutti
