// Whoever does not hold the key changes nothing for the job: it is silent, talks garbage, replays, reflects,
// guesses, or comes a thousand times.
#include <sys/resource.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <deque>

#include "runtime/rendezvous/frames.h"
#include "runtime/rendezvous/handshake.h"
#include "runtime/rendezvous/local_socket.h"
#include "runtime/rendezvous/rendezvous.h"
#include "tests/runtime/rendezvous/gathering.h"

namespace tutti {
namespace {

// A connection that says what the test likes.
class Stranger {
 public:
  explicit Stranger(const UniqueId& id) {
    EXPECT_TRUE(comesTrue([&] {
      Connected connected = connectTo(id.socketName());
      socket_ = std::move(connected.socket);
      return connected.outcome == Connecting::connected;
    }));
  }

  void say(const std::string& bytes) {
    (void)::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  // The body of the next frame; empty when the host has closed.
  std::string hear(FrameType type) {
    FrameAssembler frames;
    frames.expect({type});
    const auto end = Clock::now() + kSoon;
    while (!frames.complete() && Clock::now() < end) {
      const Transfer received = receivePart(socket_.get(), frames.room(), nullptr);
      if (received.moved == Moved::blocked) {
        pollfd waited{socket_.get(), POLLIN, 0};
        poll(&waited, 1, 100);
      } else if (received.moved != Moved::some || !frames.advance(received.bytes).isOk()) {
        return "";
      }
    }
    return frames.complete() ? frames.take().body : "";
  }

  bool isTurnedAway(milliseconds within = kSoon) {
    char byte = 0;
    return comesTrue(
        [&] {
          const ssize_t got = recv(socket_.get(), &byte, 1, 0);
          return got == 0 || (got < 0 && errno != EAGAIN);
        },
        within);
  }

  int socket() const { return socket_.get(); }

 private:
  FileDescriptor socket_;
};

UniqueId withAnotherKey(const UniqueId& id) {
  std::array<char, UniqueId::kBytes> bytes;
  id.write(bytes);
  bytes[20] ^= 1;
  return UniqueId::parse(bytes).value();
}

std::string helloOf(int rank, int nranks) {
  Hello hello;
  hello.rank = rank;
  hello.nranks = nranks;
  hello.pid = 1;
  hello.deadlineMs = hello.remainingMs = 60'000;
  hello.bytes = "false";
  return encodeHello(hello);
}

class Strangers : public Gathering {
 protected:
  void SetUp() override { startHost(); }

  // Whatever was done before.
  void theJobIsWell(int nranks = 3) {
    for (const Status& status : gatherInThreads(id_, ranksBelow(nranks), nranks))
      EXPECT_TRUE(status.isOk()) << status.message();
  }
};

TEST_F(Strangers, SilenceHasFiveSeconds) {
  std::vector<Stranger> silent;
  for (int i = 0; i < 3; ++i) silent.emplace_back(id_);
  silent[1].say(encodeFrame(FrameType::opening, std::string(kOpeningBytes, 'x')));
  silent[2].say("\40\0");
  std::this_thread::sleep_for(4s);
  EXPECT_EQ(host_->strangers().silent, 0u);
  silent[1].hear(FrameType::challenge);
  for (Stranger& stranger : silent) EXPECT_TRUE(stranger.isTurnedAway());
  EXPECT_EQ(host_->strangers().silent, 3u);
  EXPECT_NE(host_->strangers().last.find("pid " + std::to_string(getpid()) + ", uid "), std::string::npos)
      << host_->strangers().last;
  theJobIsWell();
}

TEST_F(Strangers, SilenceDuringTheJob) {
  std::vector<Stranger> silent;
  for (int i = 0; i < 10; ++i) silent.emplace_back(id_);
  const auto began = Clock::now();
  theJobIsWell();
  EXPECT_LT(Clock::now() - began, 4s) << "the job waits for nobody";
}

TEST_F(Strangers, GarbageIsTurnedAwayAtOnce) {
  const std::string huge("\xff\xff\xff\x7f\1\0\0\0", 8), one("\x21\0\0\0\1\0\0\0", 8);
  const std::string opening = encodeFrame(FrameType::opening, std::string(kOpeningBytes, 'x'));
  const std::vector<std::string> garbage = {
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      std::string(100'000, '\xff'),
      std::string(64, '\0'),
      huge,
      one + std::string(33, 'x'),
      helloOf(0, 3),
      encodeFrame(FrameType::failure, std::string("\1\0\0\0text", 8)),
      opening + huge,
      opening + helloOf(0, 3),
  };
  for (const std::string& text : garbage) {
    Stranger stranger(id_);
    stranger.say(text);
    if (text.find(opening) == 0) stranger.hear(FrameType::challenge);
    EXPECT_TRUE(stranger.isTurnedAway(2s));
  }
  EXPECT_TRUE(comesTrue([&] { return host_->strangers().garbage == garbage.size(); }))
      << host_->strangers().garbage;
  theJobIsWell();
}

TEST_F(Strangers, OnesThatLeave) {
  for (int i = 0; i < 50; ++i) {
    Stranger stranger(id_);
    if (i % 2 == 0) stranger.say("\40\0\0");
  }
  EXPECT_TRUE(comesTrue([&] { return host_->strangers().garbage == 50; }));
  theJobIsWell();
}

// Answers the host's challenge with that key, whatever it thinks of the host's proof, and tries to be rank 0.
TEST_F(Strangers, AWrongKeyIsNotLetIn) {
  Stranger stranger(id_);
  const UniqueId wrong = withAnotherKey(id_);
  const JoinerHandshake joiner(wrong, makeNonce().value());
  stranger.say(encodeFrame(FrameType::opening, joiner.opening()));
  const std::string challenge = stranger.hear(FrameType::challenge);
  ASSERT_EQ(challenge.size(), kChallengeBytes);
  Nonce nonce;
  std::memcpy(nonce.data(), challenge.data(), nonce.size());
  HostHandshake same(wrong, nonce);
  const std::string proof = joiner.prove(same.challenge(joiner.opening()).value()).value();
  stranger.say(encodeFrame(FrameType::proof, proof) + helloOf(0, 3));
  EXPECT_TRUE(stranger.isTurnedAway());
  EXPECT_EQ(host_->strangers().wrongKey, 1u);
  EXPECT_NE(host_->strangers().last.find("wrong key"), std::string::npos);
  theJobIsWell();
}

TEST_F(Strangers, ARankWithAWrongKeyIsToldAtOnce) {
  const UniqueId wrong = withAnotherKey(id_);
  const auto began = Clock::now();
  const Status status = gather(wrong, 0, 3);
  EXPECT_LT(Clock::now() - began, kSoon);
  EXPECT_EQ(status.code(), Code::invalidArgument);
  EXPECT_TRUE(has(status, "does not hold the key")) << status.message();
  theJobIsWell();
}

TEST_F(Strangers, AReplayedRecordingIsNotLetIn) {
  // Recorded: all that a rank with the key has said. It has not said its hello, so that its place is free.
  std::string opening, proof;
  {
    Stranger rank(id_);
    const JoinerHandshake joiner(id_, makeNonce().value());
    opening = encodeFrame(FrameType::opening, joiner.opening());
    rank.say(opening);
    proof = encodeFrame(FrameType::proof, joiner.prove(rank.hear(FrameType::challenge)).value());
    rank.say(proof);
  }
  Stranger polite(id_), blind(id_);
  polite.say(opening);
  polite.hear(FrameType::challenge);
  polite.say(proof + helloOf(0, 3));
  blind.say(opening + proof + helloOf(0, 3));
  blind.hear(FrameType::challenge);
  EXPECT_TRUE(polite.isTurnedAway());
  EXPECT_TRUE(blind.isTurnedAway());
  EXPECT_EQ(host_->strangers().wrongKey, 2u);
  theJobIsWell();
}

TEST_F(Strangers, AReflectionIsNotLetIn) {
  Stranger first(id_), second(id_);
  first.say(encodeFrame(FrameType::opening, std::string(kOpeningBytes, 'x')));
  const std::string challenge = first.hear(FrameType::challenge);
  ASSERT_EQ(challenge.size(), kChallengeBytes);
  // The second connection as an oracle for the first one's nonce.
  second.say(encodeFrame(FrameType::opening, challenge.substr(0, kOpeningBytes)));
  const std::string answer = second.hear(FrameType::challenge);
  ASSERT_EQ(answer.size(), kChallengeBytes);
  first.say(encodeFrame(FrameType::proof, answer.substr(sizeof(Nonce))) + helloOf(0, 3));
  second.say(encodeFrame(FrameType::proof, answer.substr(sizeof(Nonce))) + helloOf(0, 3));
  EXPECT_TRUE(first.isTurnedAway());
  EXPECT_TRUE(second.isTurnedAway());
  EXPECT_EQ(host_->strangers().wrongKey, 2u);
  theJobIsWell();
}

TEST_F(Strangers, DescriptorsOfAStrangerAreNotTaken) {
  Stranger stranger(id_);
  std::vector<FileDescriptor> gift;
  for (int i = 0; i < 100; ++i) gift.push_back(FileDescriptor(dup(0)));
  ASSERT_TRUE(gift.back());
  const int before = openDescriptors();
  const std::string opening = encodeFrame(FrameType::opening, std::string(kOpeningBytes, 'x'));
  const Transfer sent = sendPart(stranger.socket(), opening, gift);
  if (sent.moved == Moved::failed) {
    EXPECT_EQ(sent.error, EPERM) << "what Linux 6.16 and later answer";
    stranger.say(opening);
  } else {
    ASSERT_EQ(sent.moved, Moved::some);
  }
  EXPECT_EQ(stranger.hear(FrameType::challenge).size(), kChallengeBytes);
  EXPECT_LE(openDescriptors(), before + 1) << "the connection, and no more";
}

TEST_F(Strangers, AThousandConnections) {
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (int i = 0; i < 1000; ++i) crowd.push_back(std::make_unique<Stranger>(id_));
  EXPECT_TRUE(comesTrue([&] { return host_->strangers().displaced >= 936; }));
  EXPECT_LE(openDescriptors(), descriptors_ + 1000 + 64 + 20);
  EXPECT_TRUE(crowd.front()->isTurnedAway()) << "the oldest goes first";
  theJobIsWell(8);
}

// A rank on its way in, by hand, so that strangers come in between.
class SlowRank {
 public:
  explicit SlowRank(const UniqueId& id) : connection_(id), joiner_(id, makeNonce().value()) {
    connection_.say(encodeFrame(FrameType::opening, joiner_.opening()));
    challenge_ = connection_.hear(FrameType::challenge);
  }
  void prove() { connection_.say(encodeFrame(FrameType::proof, joiner_.prove(challenge_).value())); }
  void say(const std::string& bytes) { connection_.say(bytes); }
  bool isLetIn() {
    connection_.say(helloOf(0, 3));
    return !connection_.isTurnedAway(100ms);
  }

 private:
  Stranger connection_;
  const JoinerHandshake joiner_;
  std::string challenge_;
};

TEST_F(Strangers, DoNotDisplaceARankThatHasProvenTheKey) {
  SlowRank rank(id_);
  rank.prove();
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (int i = 0; i < 300; ++i) crowd.push_back(std::make_unique<Stranger>(id_));
  EXPECT_TRUE(comesTrue([&] { return host_->strangers().displaced >= 200; }));
  EXPECT_TRUE(rank.isLetIn());
}

TEST_F(Strangers, LeaveARankTheTimeToProveTheKey) {
  std::vector<std::unique_ptr<Stranger>> crowd;
  for (int i = 0; i < 64; ++i) crowd.push_back(std::make_unique<Stranger>(id_));
  const auto began = Clock::now();
  SlowRank rank(id_);
  for (int i = 0; i < 300; ++i) crowd.push_back(std::make_unique<Stranger>(id_));
  rank.prove();
  const auto took = Clock::now() - began;
  EXPECT_TRUE(rank.isLetIn() || took > 150ms) << "not displaced at once";
}

// As quickly as they are let go, they come again.
TEST_F(Strangers, AFloodThatKeepsAllPlaces) {
  std::atomic<bool> stop{false};
  std::thread flood([&] {
    std::deque<FileDescriptor> open;
    while (!stop) {
      Connected connected = connectTo(id_.socketName());
      if (connected.outcome == Connecting::nobody) break;
      if (connected.outcome == Connecting::connected) open.push_back(std::move(connected.socket));
      if (open.size() > 200) open.pop_front();
    }
  });
  std::this_thread::sleep_for(300ms);
  theJobIsWell(8);
  stop = true;
  flood.join();
}

TEST_F(Strangers, AFloodDuringTheJob) {
  std::atomic<bool> stop{false};
  std::thread flood([&] {
    while (!stop) {
      const Connected connected = connectTo(id_.socketName());
      if (connected.outcome == Connecting::nobody) break;
    }
  });
  theJobIsWell(8);
  stop = true;
  flood.join();
}

// Who holds the key and then says what no rank says is no rank that has ended.
TEST_F(Strangers, GarbageOfAMemberIsToldAsSuch) {
  SlowRank member(id_);
  member.prove();
  ASSERT_TRUE(member.isLetIn());
  member.say(std::string(64, '\xff'));
  const Status status = gather(id_, 1, 3);
  EXPECT_EQ(status.code(), Code::internalError);
  EXPECT_TRUE(has(status, "rank 0 (pid ") && has(status, ": sent ")) << status.message();
}

// Connects so often to each of these as another user, and stays until the test ends.
Child silenceOfAnotherUser(const std::vector<UniqueId>& ids, int times) {
  return Child([&ids, times]() -> Status {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    constexpr uid_t kNobody = 65534;
    if (setresuid(kNobody, kNobody, kNobody) != 0) return Status(Code::systemError, "setresuid");
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // which a change of user takes away
    std::vector<FileDescriptor> open;
    for (int i = 0; i < times; ++i) {
      for (const UniqueId& id : ids) open.push_back(connectTo(id.socketName()).socket);
    }
    for (;;) pause();
    return Status();
  });
}

TEST_F(Strangers, OfAnotherUserKeepNoneOfTheHostsUserWaiting) {
  if (getuid() != 0) GTEST_SKIP() << "not root, so there is no other user";
  const std::vector<UniqueId> ids = {id_};
  const Child strangers = silenceOfAnotherUser(ids, 4000);
  ASSERT_TRUE(comesTrue([&] { return host_->strangers().displaced > 0; }));
  const auto began = Clock::now();
  theJobIsWell();
  EXPECT_LT(Clock::now() - began, 6s) << "4000 places of 0.2 s each, 64 at a time, are 12 s";
}

TEST_F(Strangers, OfAnotherUserHaveOneNumberOfPlacesForAllMeetings) {
  if (getuid() != 0) GTEST_SKIP() << "not root, so there is no other user";
  constexpr int kMeetings = 4;
  std::vector<UniqueId> ids;
  std::vector<std::unique_ptr<RendezvousHost>> hosts;
  for (int i = 0; i < kMeetings; ++i) {
    ids.push_back(UniqueId::make().value());
    hosts.push_back(RendezvousHost::start(ids.back(), kLong).value());
  }
  const int before = openDescriptors();
  const Child strangers = silenceOfAnotherUser(ids, 200);
  for (const auto& host : hosts) ASSERT_TRUE(comesTrue([&] { return host->strangers().displaced > 100; }));
  EXPECT_LE(openDescriptors(), before + 64 + 3 * kMeetings)
      << "one more for each meeting, and one on its way out";
  for (const UniqueId& id : ids) {
    for (const Status& status : gatherInThreads(id, ranksBelow(3), 3))
      EXPECT_TRUE(status.isOk()) << status.message();
  }
}

// Something else listens in the host's place.
class FalseHost : public Gathering {
 protected:
  FileDescriptor listen() {
    auto listener = listenAt(id_.socketName());
    EXPECT_TRUE(listener.isOk());
    return std::move(listener).value();
  }
  static FileDescriptor next(int listener) {
    FileDescriptor accepted;
    EXPECT_TRUE(comesTrue([&] {
      accepted = acceptFrom(listener);
      return static_cast<bool>(accepted);
    }));
    return accepted;
  }
};

TEST_F(FalseHost, GetsNoProof) {
  const FileDescriptor listener = listen();
  Status status;
  std::thread rank([&] { status = gather(id_, 0, 2); });
  const FileDescriptor connection = next(listener.get());
  std::string heard;
  comesTrue([&] {
    char buffer[256];
    const ssize_t got = recv(connection.get(), buffer, sizeof(buffer), 0);
    if (got > 0) heard.append(buffer, static_cast<std::size_t>(got));
    return heard.size() >= kHeaderBytes + kOpeningBytes;
  });
  HostHandshake handshake(withAnotherKey(id_), makeNonce().value());
  const std::string challenge = handshake.challenge(heard.substr(kHeaderBytes)).value();
  EXPECT_EQ(sendPart(connection.get(), encodeFrame(FrameType::challenge, challenge), {}).moved, Moved::some);
  rank.join();
  EXPECT_EQ(status.code(), Code::invalidArgument);
  EXPECT_TRUE(has(status, "does not hold the key")) << status.message();
  char byte = 0;
  EXPECT_EQ(recv(connection.get(), &byte, 1, 0), 0) << "it was told nothing more";
}

TEST_F(FalseHost, SilenceEndsAtTheDeadline) {
  const FileDescriptor listener = listen();
  const auto began = Clock::now();
  const Status status = gather(id_, 0, 2, 300ms);
  EXPECT_EQ(status.code(), Code::timeout);
  EXPECT_TRUE(has(status, "has not answered within 300 ms")) << status.message();
  EXPECT_GE(Clock::now() - began, 290ms);
  EXPECT_LT(Clock::now() - began, kSoon);
}

TEST_F(FalseHost, AFullQueueEndsAtTheDeadline) {
  const FileDescriptor listener = listen();
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const Stranger first(id_);
  const Status status = gather(id_, 0, 2, 300ms);
  EXPECT_EQ(status.code(), Code::timeout);
}

TEST_F(FalseHost, OneThatAlwaysHangsUpEndsAtTheDeadline) {
  const FileDescriptor listener = listen();
  std::atomic<bool> stop{false};
  std::thread hangUp([&] {
    while (!stop) acceptFrom(listener.get());
  });
  const Status status = gather(id_, 0, 2, 300ms);
  EXPECT_EQ(status.code(), Code::timeout);
  stop = true;
  hangUp.join();
}

}  // namespace
}  // namespace tutti
