// A rank's side of the rendezvous: plain sockets, poll, and a deadline in every wait.
#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/quiet_thread.h"
#include "base/refused.h"
#include "runtime/rendezvous/frames.h"
#include "runtime/rendezvous/handshake.h"
#include "runtime/rendezvous/local_socket.h"
#include "runtime/rendezvous/meeting.h"
#include "runtime/rendezvous/outcome.h"
#include "runtime/rendezvous/rendezvous.h"

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The host's text of who is missing comes right after the deadline.
constexpr milliseconds kGrace{500};

// A rank that has an error already waits no longer for a host that does not answer, whatever its deadline is.
constexpr milliseconds kMostToDecline{5000};

class Joiner {
 public:
  Joiner(const UniqueId& id, int rank, int nranks, milliseconds deadline)
      : id_(id), rank_(rank), nranks_(nranks), deadline_(std::clamp(deadline, milliseconds(1), kLongest)) {}

  // Connects and is welcomed with these bytes and the promise of so many descriptors.
  Status enter(const std::string& bytes, std::size_t descriptors);
  Status exchange(Contribution mine, const TakeContribution& take);
  // Tells all others.
  void fail(const Status& why) noexcept;
  // The same at once with the hello of enter(), so that the meeting is not complete in between.
  void enterToFail(const Status& why) { afterHello_ = encodeFailure(why); }
  bool wasTold() const { return told_; }
  bool isLate() const { return Clock::now() >= limit_; }
  // The host may know this rank, so that it is heard by this connection only.
  bool isIntroduced() const { return introduced_; }
  // For one that has not heard the end. False: then no rank will meet.
  bool haveMet() const noexcept { return promised_ && decide(outcome_, Outcome::failed) == Outcome::met; }

 private:
  static constexpr milliseconds kLongest{std::chrono::hours(24 * 365)};

  Result<bool> knock(const std::string& bytes, std::size_t descriptors);
  Status takeNext(int next, const ContributionFrame& given, Contribution& mine, const TakeContribution& take);

  // True: done. False: the host has closed the connection.
  Result<bool> send(const std::string& frame, const std::vector<FileDescriptor>& descriptors);
  Result<bool> receive();
  Status wait(short events);  // for the socket, until limit_

  Status late() const;
  Status outOfOrder() const;
  Status gone() const;
  Status nobody() const;
  std::string host() const;

  const UniqueId& id_;
  const int rank_;
  const int nranks_;
  const milliseconds deadline_;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point limit_ = began_ + deadline_;
  FileDescriptor socket_;
  FrameAssembler frames_;
  std::vector<FileDescriptor> arrived_;
  pid_t hostPid_ = 0;    // 0: not seen yet, or not visible from here
  bool seen_ = false;    // the host, at any time
  bool proven_ = false;  // that it holds the key; descriptors are taken from then on
  bool introduced_ = false;
  std::string afterHello_;
  bool told_ = false;  // why all fail
  FileDescriptor outcome_;
  bool promised_ = false;  // to have all
};

std::string Joiner::host() const {
  return hostPid_ == 0 ? "the process that made the unique id"
                       : fmt::format("the process that made the unique id (pid {})", hostPid_);
}

Status Joiner::gone() const {
  return Status(
      Code::remoteError,
      fmt::format("rank {}: {} has ended, or closed the rendezvous, before all ranks had met. Keep it alive "
                  "until all ranks have their communicator, and make a new id",
                  rank_, host()));
}

Status Joiner::nobody() const {
  return Status(
      Code::remoteError,
      fmt::format(
          "rank {}: nobody listens at the abstract unix socket @{}. The process that made the unique "
          "id has ended, or the id was used before (it serves one communicator, or one try that failed), "
          "or it was made on another host or in another network namespace",
          rank_, id_.socketName()));
}

Status Joiner::late() const {
  return Status(Code::timeout,
                fmt::format("rank {}: {} has not answered within {}. It is stopped or very slow; or "
                            "raise initTimeoutMs (TUTTI_INIT_TIMEOUT_MS)",
                            rank_, host(), durationText(deadline_)));
}

Status Joiner::wait(short events) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(limit_ - Clock::now());
    if (left <= milliseconds(0)) return late();
    pollfd waited{socket_.get(), events, 0};
    const int answer = poll(&waited, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1'000'000)));
    if (answer > 0) return Status();
    if (answer < 0 && errno != EINTR && errno != EAGAIN)
      return Status(Code::systemError, fmt::format("rank {}: poll failed: {}", rank_, std::strerror(errno)));
  }
}

Result<bool> Joiner::send(const std::string& frame, const std::vector<FileDescriptor>& descriptors) {
  static const std::vector<FileDescriptor> none;
  std::string_view rest = frame;
  while (!rest.empty()) {
    const Transfer sent = sendPart(socket_.get(), rest, rest.size() == frame.size() ? descriptors : none);
    switch (sent.moved) {
      case Moved::some:
        rest.remove_prefix(sent.bytes);
        break;
      case Moved::blocked:
        TUTTI_TRY(wait(POLLOUT));
        break;
      case Moved::ended:
        return false;
      case Moved::failed:
      case Moved::dropped:
        if (!mayPass(sent.error) || isLate()) {
          return Status(Code::systemError, fmt::format("rank {}: sending to {} failed: {}", rank_, host(),
                                                       whySendFailed(sent.error)));
        }
        poll(nullptr, 0, 2);
    }
  }
  return true;
}

Result<bool> Joiner::receive() {
  while (!frames_.complete()) {
    const Transfer received = receivePart(socket_.get(), frames_.room(), proven_ ? &arrived_ : nullptr);
    switch (received.moved) {
      case Moved::some:
        if (const Status status = frames_.advance(received.bytes); !status.isOk()) {
          return Status(
              Code::internalError,
              fmt::format("rank {}: {} sent {}. Use one version of tutti on all ranks; or this is a "
                          "fault of tutti: report it",
                          rank_, host(), status.message()));
        }
        break;
      case Moved::blocked:
        TUTTI_TRY(wait(POLLIN));
        break;
      case Moved::ended:
        return false;
      case Moved::dropped:
        return Status(Code::systemError,
                      received.error == EACCES
                          ? fmt::format("not all of another rank's descriptors have come: {}", kDropped)
                          : fmt::format("no room for another rank's descriptors: too many open files. {}",
                                        remedyFor("recvmsg", EMFILE)));
      case Moved::failed:
        return Status(Code::systemError,
                      fmt::format("receiving from {} failed: {}. {}", host(), std::strerror(received.error),
                                  remedyFor("recvmsg", received.error)));
    }
  }
  return true;
}

// One try. False: the connection ended before the host knew this rank; strangers may have displaced it.
Result<bool> Joiner::knock(const std::string& bytes, std::size_t descriptors) {
  auto nonce = makeNonce();
  TUTTI_TRY(statusOf(nonce));
  const JoinerHandshake handshake(id_, nonce.value());
  static const std::vector<FileDescriptor> none;
  const auto ask = [this](const std::string& frame,
                          std::initializer_list<FrameType> answers) -> Result<bool> {
    frames_.expect(answers);
    const auto sent = send(frame, none);
    TUTTI_TRY(statusOf(sent));
    return receive();  // also when the host has closed: it may have said why
  };

  auto answered = ask(encodeFrame(FrameType::opening, handshake.opening()), {FrameType::challenge});
  if (!answered.isOk() || !answered.value()) return answered;
  const auto proof = handshake.prove(frames_.take().body);
  if (!proof.isOk()) {
    return Status(
        proof.status().code(),
        fmt::format("rank {}: {} {}: the id was changed on its way to this rank, or something else listens "
                    "in its place. Carry all 128 bytes unchanged",
                    rank_, host(), proof.status().message()));
  }
  proven_ = true;
  allowDescriptors(socket_.get());
  auto sent = send(encodeFrame(FrameType::proof, proof.value()), none);
  if (!sent.isOk() || !sent.value()) return sent;

  Hello hello;
  hello.rank = rank_;
  hello.nranks = nranks_;
  hello.pid = static_cast<std::uint32_t>(getpid());
  hello.descriptors = static_cast<std::uint32_t>(descriptors);
  hello.deadlineMs = static_cast<std::uint64_t>(deadline_.count());
  const auto left = std::chrono::duration_cast<milliseconds>(limit_ - Clock::now());
  hello.remainingMs = static_cast<std::uint64_t>(std::max(left, milliseconds(0)).count());
  hello.bytes = bytes;
  frames_.expect({FrameType::welcome, FrameType::failure});
  sent = send(encodeHello(hello) + afterHello_, none);
  TUTTI_TRY(statusOf(sent));
  introduced_ = true;
  answered = receive();
  if (!answered.isOk() || !answered.value()) return answered;
  const Frame frame = frames_.take();
  if (frame.type == FrameType::welcome) return true;
  told_ = true;
  return decodeFailure(frame.body);
}

Status Joiner::enter(const std::string& bytes, std::size_t descriptors) {
  for (int pause = 1;; pause = std::min(2 * pause, 50)) {
    Connected connected = connectTo(id_.socketName());
    switch (connected.outcome) {
      case Connecting::connected: {
        socket_ = std::move(connected.socket);
        frames_ = FrameAssembler();
        proven_ = introduced_ = false;
        hostPid_ = peerOf(socket_.get()).pid;
        seen_ = true;
        auto welcome = knock(bytes, descriptors);
        TUTTI_TRY(statusOf(welcome));
        if (welcome.value()) {
          limit_ += kGrace;
          return Status();
        }
        break;
      }
      case Connecting::busy:
        break;
      case Connecting::nobody:
        return seen_ ? gone() : nobody();
      case Connecting::failed:
        return refused(fmt::format("rank {}: no way to {}", rank_, host()), connected.call, connected.error);
    }
    if (isLate()) return late();
    poll(nullptr, 0, pause);
  }
}

void Joiner::fail(const Status& why) noexcept {
  limit_ = std::min(limit_, Clock::now() + kGrace);
  static const std::vector<FileDescriptor> none;
  try {
    (void)send(encodeFailure(why), none);
  } catch (const std::bad_alloc&) {
    socket_.close();  // whoever does not get it sees the end of the connection
  }
}

// One contribution is there.
Status Joiner::takeNext(int next, const ContributionFrame& given, Contribution& mine,
                        const TakeContribution& take) {
  std::vector<FileDescriptor> descriptors = std::exchange(arrived_, {});
  const std::size_t due = next == rank_ ? 0 : given.descriptors;  // the own ones stay here
  if (given.rank != next || descriptors.size() != due) {
    return Status(
        Code::internalError,
        fmt::format("rank {} got rank {}'s contribution with {} descriptors where rank {}'s with {} was due: "
                    "a fault of tutti, report it",
                    rank_, given.rank, descriptors.size(), next, due));
  }
  if (next == rank_) descriptors = std::move(mine.descriptors);
  return take(next, std::string(given.bytes), std::move(descriptors));
}

Status Joiner::outOfOrder() const {
  return Status(
      Code::internalError,
      fmt::format("rank {}: {} does not keep to the order of the rendezvous: a fault of tutti, report it",
                  rank_, host()));
}

Status Joiner::exchange(Contribution mine, const TakeContribution& take) {
  static const std::vector<FileDescriptor> none;
  frames_.expect(
      {FrameType::outcome, FrameType::give, FrameType::contribution, FrameType::done, FrameType::failure});
  for (int next = 0;;) {
    // When the host does not take what is sent, it may have said why before: so read on, and find the end there.
    const auto received = receive();
    TUTTI_TRY(statusOf(received));
    if (!received.value()) return gone();
    const Frame frame = frames_.take();
    Result<bool> sent = true;
    switch (frame.type) {
      case FrameType::outcome:
        if (arrived_.size() != 1) return outOfOrder();
        outcome_ = std::move(arrived_.front());
        arrived_.clear();
        break;
      case FrameType::give:
        sent = send(encodeFrame(FrameType::descriptors, ""), mine.descriptors);
        break;
      case FrameType::contribution: {
        const auto given = decodeContribution(frame.body);
        TUTTI_TRY(statusOf(given));
        TUTTI_TRY(takeNext(next, given.value(), mine, take));
        if (given.value().descriptors > 0) sent = send(encodeTook(next), none);
        ++next;
        if (next == nranks_ && sent.isOk() && sent.value()) {
          promised_ = true;
          sent = send(encodeFrame(FrameType::haveAll, ""), none);
        }
        break;
      }
      case FrameType::done:
        if (next == nranks_) return Status();
        return outOfOrder();
      default:
        told_ = true;
        return decodeFailure(frame.body);
    }
    TUTTI_TRY(statusOf(sent));
  }
}

// That libsodium's randomness needs none, either, is asked, too: without it an empty table is of no use.
bool hasNoDescriptor() {
  const FileDescriptor free(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  char random = 0;
  return !free && errno == EMFILE && getrandom(&random, 1, 0) == 1;
}

// As declineRendezvous, with a descriptor of this thread's.
void decline(const UniqueId& id, int rank, int nranks, const Status& why, milliseconds deadline) noexcept {
  try {
    Joiner joiner(id, rank, nranks, std::min(deadline, kMostToDecline));
    joiner.enterToFail(why);
    (void)joiner.enter("", 0);
  } catch (const std::bad_alloc&) {
    return;  // the others wait in vain
  }
}

}  // namespace

Status joinRendezvous(const UniqueId& id, int rank, int nranks, Contribution mine,
                      const TakeContribution& take, milliseconds deadline) {
  Joiner joiner(id, rank, nranks, deadline);
  const auto declined = [&](Status why) {
    if (joiner.isIntroduced())
      joiner.fail(why);
    else
      declineRendezvous(id, rank, nranks, why, deadline);
    return why;
  };
  if (mine.bytes.size() > kMostContributionBytes || mine.descriptors.size() > kMostDescriptors)
    return declined(
        Status(Code::internalError,
               fmt::format("a contribution of {} bytes and {} descriptors is too large: a fault of tutti, "
                           "report it",
                           mine.bytes.size(), mine.descriptors.size())));
  Status entered;
  try {
    entered = joiner.enter(mine.bytes, mine.descriptors.size());
  } catch (const std::bad_alloc&) {
    return declined(Status::outOfMemory());
  }
  if (entered.code() == Code::systemError && !joiner.wasTold() && !joiner.isLate())
    return declined(std::move(entered));
  TUTTI_TRY(entered);
  Status met;
  try {
    met = joiner.exchange(std::move(mine), take);
  } catch (const std::bad_alloc&) {
    met = Status::outOfMemory();
  }
  // At the deadline the host tells all who is missing.
  if (!met.isOk() && !joiner.wasTold() && !joiner.isLate()) joiner.fail(met);
  return met.isOk() || joiner.haveMet() ? Status() : met;
}

void declineRendezvous(const UniqueId& id, int rank, int nranks, const Status& why, milliseconds deadline) {
  if (hasNoDescriptor()) {
    try {
      quietThread([&] {
        FileDescriptor::leaveTable();
        decline(id, rank, nranks, why, deadline);
      }).join();
      return;
    } catch (const std::system_error&) {
    }
  }
  decline(id, rank, nranks, why, deadline);
}

}  // namespace tutti
