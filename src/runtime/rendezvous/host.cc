// The host's side of the rendezvous: one thread, one event loop, a coroutine for every connection and one that
// conducts the meeting.
//
// A wait for a frame has no deadline of its own: a stranger's patience, the meeting's deadline and the end of the
// meeting each cancel all waits of what they end.
#include <fmt/format.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/quiet_thread.h"
#include "base/refused.h"
#include "runtime/process_name.h"
#include "runtime/rendezvous/connection.h"
#include "runtime/rendezvous/frames.h"
#include "runtime/rendezvous/handshake.h"
#include "runtime/rendezvous/local_socket.h"
#include "runtime/rendezvous/meeting.h"
#include "runtime/rendezvous/outcome.h"
#include "runtime/rendezvous/places.h"
#include "runtime/rendezvous/rendezvous.h"

// After connection.h, which says how Asio is to be compiled.
#include <asio/post.hpp>

namespace tutti {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;
using Descriptors = std::shared_ptr<const std::vector<FileDescriptor>>;

constexpr milliseconds kPatience{5000};  // with a stranger
constexpr milliseconds kToProve{200};    // in which no other takes its place
constexpr std::size_t kMostStrangers = 64;
constexpr milliseconds kLastWords{200};  // to get the last frames out when the host object goes
constexpr milliseconds kLongest{std::chrono::hours(24 * 365)};
using ConnectionPointer = std::shared_ptr<Connection>;

milliseconds millisecondsOf(std::uint64_t told) {
  return milliseconds(
      static_cast<std::int64_t>(std::min(told, static_cast<std::uint64_t>(kLongest.count()))));
}

// Of all meetings of the process. A meeting without any may have one more, so that no other keeps a rank from it.
Places placesOfOthers;

// Strangers may not take the descriptors that the process needs itself.
std::size_t placesForStrangers() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return kMostStrangers;
  return std::clamp<std::size_t>(files.rlim_cur / 4, 4, kMostStrangers);
}

// What a meeting shows of itself. Any thread.
struct Shown {
  std::mutex mutex;  // guards strangers
  RendezvousHost::Strangers strangers;
  std::atomic<bool> failed{false};
  std::atomic<bool> over{false};
};

// All that a meeting takes of the process. The thread's own, but for stop() while it runs.
class Conductor {
 public:
  Conductor(const UniqueId& id, FileDescriptor listener, milliseconds deadline, milliseconds toldLate,
            Shown& shown);
  ~Conductor();

  bool hasSpare();
  void run() noexcept;
  // From another thread; run() returns soon.
  void stop() noexcept;

 private:
  using Strangers = RendezvousHost::Strangers;

  asio::awaitable<void> accept();
  asio::awaitable<void> serve(ConnectionPointer connection);
  asio::awaitable<bool> knows(Connection& connection);
  asio::awaitable<bool> hasFrame(Connection& connection);
  asio::awaitable<void> conduct();
  asio::awaitable<void> meet();
  bool haveAllHeard() const;
  bool handOutOutcome();
  template <class Condition>
  asio::awaitable<bool> until(Condition condition);

  asio::awaitable<void> hasPlace();
  void makeRoom();
  bool hasPlaceForOther();
  void vacate(const Connection& connection);
  Status noRoom(const char* what, int error) const;
  Status cannotGoOn(int error) const;
  Status unsent(const Connection& connection) const;
  Status whyNoFrame(const Connection& connection, Connection::Received received) const;
  void welcomeStranger(FileDescriptor socket);
  void turnAway(Connection& connection, std::uint64_t Strangers::*reason, const char* text);
  void admit(const ConnectionPointer& connection, Hello hello);
  bool hear(Connection& connection, Frame frame);
  void lost(Connection& connection);
  void sendAll(const std::string& frame, const Descriptors& descriptors = nullptr, int except = -1);
  void fail(const Status& why);
  void endAfter(milliseconds time);
  void end();
  void giveUp(const std::string& failure) noexcept;

  // Whether the others wait for it now.
  bool isSilent(int rank, const Connection& connection) const {
    if (giving_) return rank == *giving_;
    return taking_ ? connection.took < *taking_ : !connection.hasAll;
  }

  template <class Holds>
  bool everyone(Holds holds) const {
    return std::all_of(members_.begin(), members_.end(),
                       [&](const ConnectionPointer& member) { return member != nullptr && holds(*member); });
  }

  const UniqueId id_;
  const milliseconds deadlineOfAll_;
  const milliseconds toldLate_;
  const std::size_t places_ = placesForStrangers();
  const pid_t owner_ = getpid();
  const uid_t user_ = geteuid();
  Shown& shown_;

  asio::io_context loop_{1};  // before all that lives in it
  FileDescriptor listener_;
  Events arrivals_;              // of listener_: goes first
  FileDescriptor spare_;         // its place is for a rank that has to be told that there is no other
  asio::steady_timer room_;      // for another connection, hoped for
  asio::steady_timer deadline_;  // of the meeting
  asio::steady_timer changed_;   // never expires; cancelled when conduct() should look again
  asio::steady_timer ending_;
  const std::string withoutMemory_ = encodeFailure(cannotGoOn(ENOMEM));  // to be sent then
  Clock::time_point deadlineAt_ = Clock::time_point::max();
  std::set<ConnectionPointer> connections_;
  // Of them, those that have not shown the key, oldest first: of the host's own user, and of others.
  std::deque<ConnectionPointer> unknown_;
  std::deque<ConnectionPointer> others_;
  Meeting meeting_;
  std::vector<ConnectionPointer> members_;  // by rank
  std::optional<int> giving_;               // the rank that was asked for its descriptors
  std::optional<int> taking_;               // the rank whose descriptors all others were sent
  Descriptors outcome_;                     // one, of the meeting that is complete
  std::optional<Status> failure_;           // the first cause
  bool done_ = false;                       // all have all
  bool ended_ = false;
};

Conductor::Conductor(const UniqueId& id, FileDescriptor listener, milliseconds deadline,
                     milliseconds toldLate, Shown& shown)
    : id_(id),
      deadlineOfAll_(std::clamp(deadline, milliseconds(1), kLongest)),
      toldLate_(std::clamp(toldLate, milliseconds(1), kLongest)),
      shown_(shown),
      listener_(std::move(listener)),
      arrivals_(loop_, listener_.get()),
      spare_(eventfd(0, EFD_CLOEXEC)),
      room_(loop_),
      deadline_(loop_),
      changed_(loop_, Clock::time_point::max()),
      ending_(loop_) {
  spawn(loop_, accept());
  spawn(loop_, conduct());
}

Conductor::~Conductor() {
  for (std::size_t i = 0; i < others_.size(); ++i) placesOfOthers.giveBack();
}

void Conductor::stop() noexcept {
  try {
    asio::post(loop_, [this] { done_ ? endAfter(kLastWords) : end(); });
  } catch (const std::bad_alloc&) {
    loop_.stop();  // the ranks see their connections end
  }
}

// What Asio or the standard library throws ends the rendezvous.
void Conductor::run() noexcept {
  try {
    try {
      loop_.run();
    } catch (const std::system_error& error) {
      giveUp(encodeFailure(cannotGoOn(error.code().value())));
    }
  } catch (...) {
    giveUp(withoutMemory_);
  }
}

// Tells those who are there, as far as it goes without memory; who is still to come finds nobody.
void Conductor::giveUp(const std::string& failure) noexcept {
  arrivals_.release();
  listener_.close();
  for (const ConnectionPointer& connection : connections_) {
    if (connection->rank && !done_) connection->sendNow(failure);
    connection->shutdown();
  }
}

// Cancels all waits, so that every coroutine and then the thread ends.
void Conductor::end() {
  if (ended_) return;
  ended_ = true;
  arrivals_.release();
  listener_.close();  // from now on nobody listens, and the name is free
  room_.cancel();
  deadline_.cancel();
  ending_.cancel();
  changed_.cancel();
  for (const ConnectionPointer& connection : connections_) connection->close();
}

void Conductor::endAfter(milliseconds time) {
  if (ended_) return;  // nothing may keep the loop alive
  ending_.expires_after(time);
  ending_.async_wait([this](std::error_code cancelled) {
    if (!cancelled) end();
  });
}

// ---- Connections

bool Conductor::hasSpare() {
  if (!spare_) spare_ = FileDescriptor(eventfd(0, EFD_CLOEXEC));
  return static_cast<bool>(spare_);
}

Status Conductor::noRoom(const char* what, int error) const {
  return Status(Code::systemError,
                fmt::format("the process that made the unique id (pid {}) has no room for {}: {}. {}, there",
                            owner_, what, std::strerror(error), remedyFor("accept4", error)));
}

Status Conductor::cannotGoOn(int error) const {
  return Status(Code::systemError,
                fmt::format("the process that made the unique id (pid {}) has given up the meeting: {}. {}, "
                            "there, and make a new unique id",
                            owner_, std::strerror(error), remedyFor("epoll_ctl", error)));
}

// To a member.
Status Conductor::unsent(const Connection& connection) const {
  return Status(Code::systemError,
                fmt::format("the process that made the unique id (pid {}) could not send to {}: {}", owner_,
                            meeting_.nameOf(*connection.rank), whySendFailed(connection.sendError())));
}

// Of a member, although it has not ended.
Status Conductor::whyNoFrame(const Connection& connection, Connection::Received received) const {
  const auto notReceived = [&](const std::string& why) {
    return Status(Code::systemError,
                  fmt::format("the process that made the unique id (pid {}) could not receive from {}: {}",
                              owner_, meeting_.nameOf(*connection.rank), why));
  };
  const int error = connection.error();
  switch (received) {
    case Connection::Received::unsent:
      return unsent(connection);
    case Connection::Received::garbage:
      return meeting_.failed(
          *connection.rank, Status(Code::internalError,
                                   fmt::format("sent {}. Use one version of tutti on all ranks; or this is a "
                                               "fault of tutti: report it",
                                               connection.garbage())));
    case Connection::Received::dropped:
      return error == EACCES ? notReceived(kDropped) : noRoom("the descriptors of a rank", error);
    default:
      return notReceived(fmt::format("{}. {}", std::strerror(error), remedyFor("recvmsg", error)));
  }
}

asio::awaitable<void> Conductor::accept() {
  for (bool waited = false; !ended_;) {
    // Before each one, so that in a flood those that were turned away get to close their sockets.
    co_await arrivals_.wait(asio::posix::stream_descriptor::wait_read);
    co_await hasPlace();
    if (ended_) break;
    FileDescriptor socket = acceptFrom(listener_.get());
    const bool noRoom = !socket && errno != EAGAIN && errno != EWOULDBLOCK;
    if (socket) welcomeStranger(std::move(socket));
    if (!noRoom) {
      waited = false;
    } else {
      // No descriptor or no memory. Time helps, which the last one that came in needs to show who it is.
      if (std::exchange(waited, true)) makeRoom();
      room_.expires_after(milliseconds(10));
      co_await waitFor(room_);
    }
  }
}

// When it has had the time to show who it is.
Clock::time_point mayGoAt(Connection& stranger) {
  return stranger.patience().expiry() - kPatience + kToProve;
}

// For one that comes: the oldest stranger gives its place, when it may. However fast strangers come, a rank gets so
// far.
asio::awaitable<void> Conductor::hasPlace() {
  while (!ended_ && unknown_.size() >= places_) {
    Connection& oldest = *unknown_.front();
    if (Clock::now() >= mayGoAt(oldest)) {
      turnAway(oldest, &Strangers::displaced, "displaced");
    } else {
      room_.expires_at(mayGoAt(oldest));
      co_await waitFor(room_);
    }
  }
}

// Nobody waits for a place of one of another user, because those of the host's own come in the same queue.
bool Conductor::hasPlaceForOther() {
  if (others_.empty()) return placesOfOthers.take(std::numeric_limits<std::size_t>::max());
  if (placesOfOthers.take(places_)) return true;
  if (Clock::now() < mayGoAt(*others_.front())) return false;
  turnAway(*others_.front(), &Strangers::displaced, "displaced");
  return hasPlaceForOther();
}

void Conductor::vacate(const Connection& connection) {
  const auto isIt = [&](const ConnectionPointer& other) { return other.get() == &connection; };
  std::erase_if(unknown_, isIt);
  if (std::erase_if(others_, isIt) != 0) placesOfOthers.giveBack();
  room_.cancel();
}

// The oldest stranger gives its place; when there is none, the spare one is for whoever comes.
void Conductor::makeRoom() {
  const auto& strangers = others_.empty() ? unknown_ : others_;
  if (!strangers.empty())
    turnAway(*strangers.front(), &Strangers::displaced, "displaced");
  else
    spare_.close();
}

void Conductor::welcomeStranger(FileDescriptor socket) {
  auto connection = std::make_shared<Connection>(loop_, std::move(socket), [this] { changed_.cancel(); });
  const bool isOwn = connection->peer().uid == user_;
  if (!isOwn && !hasPlaceForOther()) return turnAway(*connection, &Strangers::displaced, "displaced");
  (isOwn ? unknown_ : others_).push_back(connection);
  connections_.insert(connection);
  connection->patience().expires_after(kPatience);
  connection->patience().async_wait([this, weak = std::weak_ptr(connection)](std::error_code cancelled) {
    const ConnectionPointer silent = cancelled ? nullptr : weak.lock();
    if (silent != nullptr && !silent->known) turnAway(*silent, &Strangers::silent, "silent");
  });
  spawn(loop_, serve(std::move(connection)));
}

// One that was not a rank, as far as is known.
void Conductor::turnAway(Connection& connection, std::uint64_t Strangers::*reason, const char* text) {
  vacate(connection);
  if (connection.isClosed()) return;
  connection.close();
  const std::lock_guard lock(shown_.mutex);
  ++(shown_.strangers.*reason);
  shown_.strangers.last =
      fmt::format("pid {}, uid {}: {}", connection.peer().pid, connection.peer().uid, text);
}

asio::awaitable<void> Conductor::serve(ConnectionPointer connection) {
  if (co_await knows(*connection)) {
    connection->frames().expect({FrameType::hello});
    if (co_await hasFrame(*connection)) {
      auto hello = decodeHello(connection->frames().take().body);
      if (hello.isOk()) admit(connection, std::move(hello).value());
    }
  }
  if (!connection->known) {
    turnAway(*connection, &Strangers::garbage, "not the protocol of a rank");
  } else {
    connection->frames().expect(
        {FrameType::descriptors, FrameType::took, FrameType::haveAll, FrameType::failure});
    while (co_await hasFrame(*connection)) {
      if (!hear(*connection, connection->frames().take())) break;
    }
    lost(*connection);
  }
  connections_.erase(connection);
  connection.reset();
  if (!ended_ && !meeting_.isComplete()) hasSpare();  // whose place may have been this one
}

// Whether the peer shows that it holds the key.
asio::awaitable<bool> Conductor::knows(Connection& connection) {
  const auto nonce = makeNonce();
  if (!nonce.isOk()) co_return false;
  HostHandshake handshake(id_, nonce.value());
  connection.frames().expect({FrameType::opening});
  if (!co_await hasFrame(connection)) co_return false;
  const auto challenge = handshake.challenge(connection.frames().take().body);
  if (!challenge.isOk()) co_return false;
  connection.send(encodeFrame(FrameType::challenge, challenge.value()));
  connection.frames().expect({FrameType::proof});
  if (!co_await hasFrame(connection)) co_return false;
  if (handshake.accepts(connection.frames().take().body)) {
    vacate(connection);  // nobody displaces one that holds the key
    co_return true;
  }
  turnAway(connection, &Strangers::wrongKey, "wrong key");
  co_return false;
}

// Waits for one whole frame. False: there will be none.
asio::awaitable<bool> Conductor::hasFrame(Connection& connection) {
  const Connection::Received received = co_await connection.receive();
  if (received == Connection::Received::frame) co_return true;
  if (connection.rank && received != Connection::Received::ended) fail(whyNoFrame(connection, received));
  co_return false;
}

void Conductor::sendAll(const std::string& frame, const Descriptors& descriptors, int except) {
  const auto shared = std::make_shared<const std::string>(frame);
  for (std::size_t rank = 0; rank < members_.size(); ++rank) {
    if (members_[rank] == nullptr) continue;
    members_[rank]->send({shared, static_cast<int>(rank) == except ? nullptr : descriptors, 0});
  }
}

// ---- The meeting

// A process that holds the key has said who it is.
void Conductor::admit(const ConnectionPointer& connection, Hello hello) {
  connection->becomeKnown();
  connection->patience().cancel();
  meeting_.see(hello.rank, hello.nranks);
  Status refused = failure_.value_or(Status());
  if (refused.isOk()) {
    std::string pid = processName(static_cast<pid_t>(hello.pid), connection->peer().pid);
    refused =
        meeting_.admit({hello.rank, hello.nranks, std::move(pid), hello.descriptors, std::move(hello.bytes)});
  }
  if (refused.isOk() && !hasSpare()) refused = noRoom("another rank", errno);
  if (!refused.isOk()) {
    connection->sendLast(encodeFailure(refused));
    fail(refused);
    return;
  }
  connection->rank = hello.rank;
  members_.resize(static_cast<std::size_t>(meeting_.nranks()));
  members_[static_cast<std::size_t>(hello.rank)] = connection;
  connection->send(encodeFrame(FrameType::welcome, ""));

  // The first deadline that passes counts for all, be it the rank's or the host's own.
  milliseconds whole = millisecondsOf(hello.deadlineMs);
  milliseconds left = millisecondsOf(hello.remainingMs);
  if (deadlineAt_ == Clock::time_point::max() && deadlineOfAll_ < left) whole = left = deadlineOfAll_;
  if (Clock::now() + left < deadlineAt_) {
    deadlineAt_ = Clock::now() + left;
    deadline_.expires_at(deadlineAt_);
    deadline_.async_wait([this, whole](std::error_code cancelled) {
      if (cancelled || done_) return;
      std::vector<int> silent;
      for (std::size_t rank = 0; rank < members_.size(); ++rank) {
        if (members_[rank] == nullptr || !isSilent(static_cast<int>(rank), *members_[rank])) continue;
        if (members_[rank]->sendError() != 0) return fail(unsent(*members_[rank]));
        silent.push_back(static_cast<int>(rank));
      }
      fail(meeting_.late(whole, silent));
    });
  }
  changed_.cancel();
}

// What a member says. False: it is not to be listened to any more.
bool Conductor::hear(Connection& connection, Frame frame) {
  std::vector<FileDescriptor> arrived = connection.takeDescriptors();
  if (!connection.rank || failure_) return true;  // until it has read its failure and leaves
  switch (frame.type) {
    case FrameType::descriptors:
      connection.given = std::move(arrived);
      break;
    case FrameType::took:
      connection.took = decodeTook(frame.body).value();  // of 4 bytes, as the assembler has seen to
      break;
    case FrameType::haveAll:
      connection.hasAll = true;
      break;
    default:
      fail(meeting_.failed(*connection.rank, decodeFailure(frame.body)));
      return false;
  }
  changed_.cancel();
  return true;
}

// The connection of a process that had said who it is is over.
void Conductor::lost(Connection& connection) {
  if (!ended_ && !done_ && connection.rank) fail(meeting_.ended(*connection.rank));
  connection.close();
  if (failure_ && connection.rank) members_[static_cast<std::size_t>(*connection.rank)] = nullptr;
  changed_.cancel();
}

// Tells all who are there; those who come later are told by admit().
void Conductor::fail(const Status& why) {
  if (failure_ || done_ || ended_) return;
  failure_ = why;
  shown_.failed.store(true);
  deadline_.cancel();
  for (const ConnectionPointer& member : members_) {
    if (member != nullptr) member->sendLast(encodeFailure(why));
  }
  changed_.cancel();
  endAfter(toldLate_);
}

// Waits for a condition that frames and connections change. False: it will not come.
template <class Condition>
asio::awaitable<bool> Conductor::until(Condition condition) {
  while (!failure_ && !ended_ && !condition()) {
    co_await waitFor(changed_);
  }
  co_return !failure_ && !ended_;
}

// False: all have been told that there is none.
bool Conductor::handOutOutcome() {
  spare_.close();  // its place is for this
  auto outcome = makeOutcome();
  if (!outcome.isOk()) {
    fail(Status(outcome.status().code(), fmt::format("the process that made the unique id (pid {}) has {}",
                                                     owner_, outcome.status().message())));
    return false;
  }
  std::vector<FileDescriptor> one;
  one.push_back(std::move(outcome).value());
  outcome_ = std::make_shared<const std::vector<FileDescriptor>>(std::move(one));
  sendAll(encodeFrame(FrameType::outcome, ""), outcome_);
  return true;
}

// Ends when nobody is left who has to be told.
asio::awaitable<void> Conductor::conduct() {
  co_await meet();
  while (!ended_ && !(failure_ && haveAllHeard())) co_await waitFor(changed_);
  end();
}

bool Conductor::haveAllHeard() const {
  return meeting_.haveAllBeenSeen() &&
         std::all_of(connections_.begin(), connections_.end(), [](const ConnectionPointer& connection) {
           return !connection->known || connection->isClosed() || connection->allSent();
         });
}

asio::awaitable<void> Conductor::meet() {
  const bool complete = co_await until([this] { return meeting_.isComplete(); });
  if (!complete || !handOutOutcome()) co_return;
  for (int rank = 0; rank < meeting_.nranks(); ++rank) {
    const Meeting::Member& member = meeting_.member(rank);
    const ConnectionPointer connection = members_[static_cast<std::size_t>(rank)];
    Descriptors descriptors;
    if (member.descriptors > 0) {
      giving_ = rank;
      connection->send(encodeFrame(FrameType::give, ""));
      const bool given = co_await until([&] { return connection->given.has_value(); });
      if (!given) co_return;
      giving_.reset();
      if (connection->given->size() != member.descriptors) {
        fail(meeting_.failed(
            rank, Status(Code::internalError,
                         fmt::format("promised {} descriptors and gave {}: a fault of tutti, report it",
                                     member.descriptors, connection->given->size()))));
        co_return;
      }
      descriptors = std::make_shared<const std::vector<FileDescriptor>>(std::move(*connection->given));
      connection->given.reset();
    }
    sendAll(encodeContribution({rank, member.descriptors, member.bytes}), std::exchange(descriptors, nullptr),
            rank);
    if (member.descriptors == 0) continue;
    taking_ = rank;
    const bool taken =
        co_await until([&] { return everyone([rank](const Connection& c) { return c.took >= rank; }); });
    if (!taken) co_return;
    taking_.reset();
  }
  const bool allHaveAll =
      co_await until([&] { return everyone([](const Connection& c) { return c.hasAll; }); });
  if (!allHaveAll) co_return;
  if (decide(outcome_->front(), Outcome::met) != Outcome::met) {
    fail(meeting_.givenUp());
    co_return;
  }
  done_ = true;
  sendAll(encodeFrame(FrameType::done, ""));
  // The deadline still ends this, for a rank that does not read.
  endAfter(std::chrono::ceil<milliseconds>(std::max(deadlineAt_ - Clock::now(), Clock::duration::zero())));
  const bool sent = co_await until([&] { return everyone([](const Connection& c) { return c.allSent(); }); });
  if (sent) end();
}

}  // namespace

// ---- What others see

class RendezvousHost::Service {
 public:
  Service(const UniqueId& id, FileDescriptor listener, milliseconds deadline, milliseconds toldLate)
      : conductor_(std::make_unique<Conductor>(id, std::move(listener), deadline, toldLate, shown_)) {}
  ~Service() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      if (conductor_ != nullptr) conductor_->stop();
    }
    thread_.join();
  }

  bool hasSpare() { return conductor_->hasSpare(); }  // before startThread()
  void startThread() {
    thread_ = quietThread([this] { run(); });
  }

  bool isOfThisProcess() const { return getpid() == owner_; }
  Shown& shown() { return shown_; }

 private:
  void run() noexcept;

  const pid_t owner_ = getpid();
  Shown shown_;
  std::mutex mutex_;                      // guards conductor_ against its end
  std::unique_ptr<Conductor> conductor_;  // ends in the thread
  std::thread thread_;
};

void RendezvousHost::Service::run() noexcept {
  pthread_setname_np(pthread_self(), "tutti-meet");
  conductor_->run();
  std::unique_ptr<Conductor> over;
  {
    const std::lock_guard lock(mutex_);
    over = std::move(conductor_);
  }
  over.reset();
  shown_.over.store(true);
}

RendezvousHost::RendezvousHost(std::unique_ptr<Service> service) : service_(std::move(service)) {}

RendezvousHost::~RendezvousHost() {
  // A forked child has no such thread: nothing can be waited for, and what it used may be half changed.
  if (!service_->isOfThisProcess()) (void)service_.release();
}

RendezvousHost::Strangers RendezvousHost::strangers() const {
  const std::lock_guard lock(service_->shown().mutex);
  return service_->shown().strangers;
}

bool RendezvousHost::isOver() const {
  return service_->shown().over.load();
}

bool RendezvousHost::hasFailed() const {
  return service_->shown().failed.load();
}

Result<std::unique_ptr<RendezvousHost>> RendezvousHost::start(const UniqueId& id, milliseconds deadline,
                                                              milliseconds toldLate) {
  auto listener = listenAt(id.socketName());
  TUTTI_TRY(statusOf(listener));
  // The walls of Asio: it throws when there is no descriptor or no thread to be had.
  try {
    auto service = std::make_unique<Service>(id, std::move(listener).value(), deadline, toldLate);
    if (!service->hasSpare()) return refused("no place for the ranks to meet at", "eventfd", errno);
    service->startThread();
    return std::unique_ptr<RendezvousHost>(new RendezvousHost(std::move(service)));
  } catch (const std::system_error& error) {
    return Status(Code::systemError,
                  fmt::format("no thread for the ranks to meet at: {}. {}", error.what(),
                              remedyFor("epoll_create1 and eventfd", error.code().value())));
  }
}

}  // namespace tutti
