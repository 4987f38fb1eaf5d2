// Two processes: messages over links that both of them open when they like, and nothing left behind by one that
// is killed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "child.h"
#include "descriptors.h"
#include "exchange.h"
#include "fallocate_hook.h"
#include "limits.h"
#include "tests/support/traces.h"
#include "transport/shared/links.h"
#include "transport/shared/peer_arena.h"

namespace tutti {
namespace {

constexpr std::size_t kArenaBytes = 256 << 20;

// One of the two processes: its arena, and the other's.
class Side {
 public:
  Side(const DescriptorPipe& pipe, int process) : process_(process), arena_(make()) {
    EXPECT_TRUE(pipe.send(process, arena_->descriptor()));
    auto peer = PeerArena::map(pipe.receive(process));
    EXPECT_TRUE(peer.isOk()) << peer.status().message();
    peer_ = std::make_unique<PeerArena>(std::move(peer).value());
    views_ = {arena_->memory(), peer_->memory()};
    if (process == 1) std::swap(views_[0], views_[1]);
  }

  Arena& arena() { return *arena_; }

  // Of a communicator whose directory lies at `offset` in the arena of process 0: one rank in each.
  SharedLinks links(std::uint64_t offset, const LinkOptions& options = {}) {
    static constexpr int kProcessOf[] = {0, 1};
    return SharedLinks(
        {LinkDirectory(views_[0].data() + offset, 2), process_, kProcessOf, views_, arena_.get(), options});
  }

 private:
  static std::unique_ptr<Arena> make() { return std::move(Arena::make(kArenaBytes)).value(); }

  int process_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<PeerArena> peer_;
  std::vector<std::span<std::byte>> views_;
};

// Runs body(side, process) in this process and in a child.
template <class Body>
void inTwoProcesses(Body body) {
  const DescriptorPipe pipe;
  const auto run = [&](int process) {
    Side side(pipe, process);
    if (!testing::Test::HasFailure()) body(side, process, pipe);
  };
  Child child([&] { run(1); });
  run(0);
  EXPECT_EQ(child.wait(), 0);
}

// The first allocation of process 0 is at its offset 0: both know where the directories are.
void makeDirectories(Side& side, int process, const DescriptorPipe& pipe, std::size_t bytes) {
  if (process == 0) {
    ASSERT_EQ(side.arena().allocate(bytes).value(), 0u);
  }
  ASSERT_TRUE(pipe.meet(process));
}

TEST(Processes, SendEachOtherThousandsOfMessages) {
  inTwoProcesses([](Side& side, int process, const DescriptorPipe& pipe) {
    makeDirectories(side, process, pipe, LinkDirectory::bytesFor(2));
    LinkOptions options;
    options.slotBytes = 8 * 1024;
    options.firstMessage = (std::uint64_t{1} << 32) - 1000;
    SharedLinks links = side.links(0, options);
    const int peer = 1 - process;
    // Ping-pong, so that lines are closed: 5,000 each way.
    for (const MailboxFormat format : {MailboxFormat::slots, MailboxFormat::lines}) {
      MailboxEnd& out = *links.open({peer, 0, true, format}).value();
      MailboxEnd& in = *links.open({peer, 0, false, format}).value();
      for (std::uint64_t message = 0; message < 5000; ++message) {
        const auto contents = contentsOf(message, message * 37 % 2049);
        const auto tag = static_cast<std::uint32_t>(message / 100);
        ASSERT_TRUE(process == 1 || post(out, contents, tag));
        ASSERT_TRUE(take(in, contents, tag)) << "message " << message << " of process " << peer;
        ASSERT_TRUE(process == 0 || post(out, contents, tag));
      }
    }
    // A stream, limited by the slots alone.
    MailboxEnd& end = *links.open({peer, 1, process == 0, MailboxFormat::slots}).value();
    for (std::uint64_t message = 0; message < 5000; ++message) {
      const auto contents = contentsOf(message, message * 61 % 8193);
      ASSERT_TRUE(process == 0 ? post(end, contents, 5) : take(end, contents, 5)) << message;
    }
    links.close();
    ASSERT_TRUE(pipe.meet(process));
  });
}

TEST(Processes, OpenTheSameLinksAtOnce) {
  inTwoProcesses([](Side& side, int process, const DescriptorPipe& pipe) {
    constexpr int kCommunicators = 200;
    const std::size_t bytes = LinkDirectory::bytesFor(2);
    makeDirectories(side, process, pipe, kCommunicators * bytes);
    const std::size_t before = side.arena().used();
    LinkOptions options;
    options.slotBytes = 256;
    options.lineBytes = 256;
    std::vector<std::uint64_t> made;
    // Whoever makes a link takes its time, so that the other one begins to make it as well.
    beforeFallocate = [](int) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
      while (std::chrono::steady_clock::now() < until) continue;
      return true;
    };
    for (std::size_t i = 0; i < kCommunicators; ++i) {
      SharedLinks links = side.links(i * bytes, options);
      ASSERT_TRUE(pipe.meet(process));
      for (int channel = 0; channel < LinkDirectory::kChannels; ++channel) {
        for (const MailboxFormat format : {MailboxFormat::slots, MailboxFormat::lines}) {
          for (const int from : {0, 1}) {
            const auto end = links.open({1 - process, channel, process == from, format});
            ASSERT_TRUE(end.isOk()) << end.status().message();
            const auto contents = contentsOf(i, 100);
            ASSERT_TRUE(process == from ? post(*end.value(), contents, 1) : take(*end.value(), contents, 1));
          }
        }
      }
      for (const std::uint64_t offset : links.close()) made.push_back(offset);
      ASSERT_TRUE(pipe.meet(process));
    }
    beforeFallocate = nullptr;
    for (const std::uint64_t offset : made) side.arena().free(offset);
    EXPECT_EQ(side.arena().used(), before);
    ASSERT_TRUE(pipe.meet(process));
  });
}

constexpr char kSegments[] = "/proc/sysvipc/shm";  // of System V

std::set<std::string> namesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().string());
  return names;
}

// A victim makes an arena, maps it again, allocates and frees until it is killed; the survivor maps it, too.
void killOne(std::chrono::microseconds after) {
  const DescriptorPipe pipe;
  Child child([&] {
    for (;;) {
      const auto arena = std::move(Arena::make(kArenaBytes)).value();
      const auto again = PeerArena::map(FileDescriptor(fcntl(arena->descriptor(), F_DUPFD_CLOEXEC, 0)));
      pipe.send(1, arena->descriptor());
      for (int i = 0; i < 10; ++i) {
        const std::uint64_t offset = arena->allocate(1 << 20).value();
        arena->base()[offset] = std::byte{1};
        if (i % 2 == 0) arena->free(offset);
      }
      pipe.receive(1);
    }
  });
  const auto peer = PeerArena::map(pipe.receive(0));
  ASSERT_TRUE(peer.isOk()) << peer.status().message();
  std::this_thread::sleep_for(after);
  child.kill();
  peer.value().memory()[0] = std::byte{2};
}

// With a /dev/shm and System V memory of their own where that is allowed, so that nobody else's are counted.
TEST(Processes, ThatAreKilledLeaveNothingBehind) {
  Child apart([] {
    if (unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0 &&
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
      EXPECT_EQ(mount("tutti", "/dev/shm", "tmpfs", 0, "size=1m"), 0);
    }
    const std::set<std::string> files = namesIn("/dev/shm");
    const int segments = linesWith(kSegments, "");
    const int mapped = arenasMapped();
    const auto descriptors = openDescriptors();
    std::minstd_rand random(1);
    for (int i = 0; i < 50; ++i) killOne(std::chrono::microseconds(random() % 8000));
    EXPECT_EQ(namesIn("/dev/shm"), files);
    EXPECT_EQ(linesWith(kSegments, ""), segments);
    EXPECT_EQ(arenasMapped(), mapped);
    EXPECT_EQ(openDescriptors(), descriptors);
  });
  EXPECT_EQ(apart.wait(), 0);
}

}  // namespace
}  // namespace tutti
