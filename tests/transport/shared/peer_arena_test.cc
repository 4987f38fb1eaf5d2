// The arena of another process: mapped if it can be trusted, for as long as the object lives, whatever becomes
// of its owner.
#include "transport/shared/peer_arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "child.h"
#include "descriptors.h"
#include "limits.h"
#include "tests/support/traces.h"
#include "transport/shared/arena.h"

namespace tutti {
namespace {

constexpr std::size_t kMiB = 1 << 20;

std::unique_ptr<Arena> arenaOf(std::size_t bytes) {
  return std::move(Arena::make(bytes)).value();
}

FileDescriptor copyOf(int file) {
  return FileDescriptor(fcntl(file, F_DUPFD_CLOEXEC, 0));
}

FileDescriptor memoryFile(std::size_t bytes, int seals) {
  FileDescriptor file(memfd_create("tutti-test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

TEST(PeerArena, IsTheSameMemory) {
  const auto arena = arenaOf(64 * kMiB);
  auto peer = PeerArena::map(copyOf(arena->descriptor()));
  ASSERT_TRUE(peer.isOk()) << peer.status().message();
  const std::span<std::byte> memory = peer.value().memory();
  ASSERT_EQ(memory.size(), arena->bytes());
  EXPECT_NE(memory.data(), arena->base());
  const std::uint64_t offset = arena->allocate(5 * kMiB).value();
  arena->base()[offset] = std::byte{1};
  memory[offset + 5 * kMiB - 1] = std::byte{2};
  EXPECT_EQ(memory[offset], std::byte{1});
  EXPECT_EQ(arena->base()[offset + 5 * kMiB - 1], std::byte{2});
}

TEST(PeerArena, IsMappedWhileItLives) {
  const auto arena = arenaOf(64 * kMiB);
  const int before = arenasMapped();
  {
    auto peer = std::move(PeerArena::map(copyOf(arena->descriptor()))).value();
    EXPECT_EQ(arenasMapped(), before + 1);
    const PeerArena moved = std::move(peer);
    EXPECT_EQ(arenasMapped(), before + 1);
    EXPECT_EQ(moved.memory().size(), arena->bytes());
  }
  EXPECT_EQ(arenasMapped(), before);
}

TEST(PeerArena, RefusesWhatCannotBeTrusted) {
  constexpr int kResize = F_SEAL_SHRINK | F_SEAL_GROW;
  char name[] = "/tmp/tutti-peer-XXXXXX";
  FileDescriptor plain(mkstemp(name));
  ASSERT_EQ(ftruncate(plain.get(), static_cast<off_t>(kMiB)), 0);
  unlink(name);
  const auto arena = arenaOf(kMiB);
  const std::string own = "/proc/self/fd/" + std::to_string(arena->descriptor());
  std::vector<std::pair<std::string, FileDescriptor>> files;
  files.emplace_back("sealed", memoryFile(kMiB, 0));
  files.emplace_back("sealed", memoryFile(kMiB, F_SEAL_GROW | F_SEAL_SEAL));
  files.emplace_back("sealed", memoryFile(kMiB, F_SEAL_SHRINK | F_SEAL_SEAL));
  files.emplace_back("sealed", memoryFile(kMiB, kResize));
  files.emplace_back("written", memoryFile(kMiB, kResize | F_SEAL_SEAL | F_SEAL_WRITE));
  files.emplace_back("size", memoryFile(0, kResize | F_SEAL_SEAL));
  files.emplace_back("size", memoryFile(kMiB + 1, kResize | F_SEAL_SEAL));
  files.emplace_back("size", memoryFile(PeerArena::kMostBytes + 4096, kResize | F_SEAL_SEAL));
  files.emplace_back("read and write", FileDescriptor(open(own.c_str(), O_RDONLY | O_CLOEXEC)));
  files.emplace_back("", std::move(plain));
  files.emplace_back("file in memory", FileDescriptor(open("/dev/null", O_RDWR | O_CLOEXEC)));
  files.emplace_back("open", FileDescriptor());
  for (auto& [why, file] : files) {
    const auto peer = PeerArena::map(std::move(file));
    ASSERT_FALSE(peer.isOk()) << why;
    EXPECT_EQ(peer.status().code(), Code::remoteError);
    EXPECT_NE(peer.status().message().find(why), std::string::npos) << peer.status().message();
  }
}

TEST(PeerArena, TakesNoDescriptorForLong) {
  Child child([] {
    ASSERT_TRUE(setLimit(RLIMIT_NOFILE, 64));
    const auto arena = arenaOf(kMiB);
    const auto before = openDescriptors();
    std::vector<PeerArena> peers;
    for (int i = 0; i < 100; ++i) {
      auto peer = PeerArena::map(copyOf(arena->descriptor()));
      ASSERT_TRUE(peer.isOk()) << i << ": " << peer.status().message();
      peers.push_back(std::move(peer).value());
      ASSERT_FALSE(PeerArena::map(memoryFile(kMiB, 0)).isOk());
    }
    EXPECT_EQ(openDescriptors(), before);
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(PeerArena, AnswersWhenTheAddressSpaceIsLimited) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << "a sanitizer's shadow does not fit a limited address space";
  Child child([] {
    const auto arena = arenaOf(1024 * kMiB);
    ASSERT_TRUE(setLimit(RLIMIT_AS, addressSpace() + 512 * kMiB));
    const auto peer = PeerArena::map(copyOf(arena->descriptor()));
    ASSERT_FALSE(peer.isOk());
    EXPECT_EQ(peer.status().code(), Code::systemError);
    EXPECT_NE(peer.status().message().find("ulimit -v"), std::string::npos);
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(PeerArena, OutlivesAKilledOwner) {
  const int before = arenasMapped();
  const DescriptorPipe pipe;
  Child child([&] {
    const auto arena = arenaOf(64 * kMiB);
    const std::uint64_t offset = arena->allocate(3 * kMiB).value();
    std::fill_n(arena->base() + offset, 3 * kMiB, std::byte{7});
    ASSERT_TRUE(pipe.send(1, arena->descriptor()));
    pause();
  });
  {
    const auto peer = PeerArena::map(pipe.receive(0));
    ASSERT_TRUE(peer.isOk()) << peer.status().message();
    child.kill();
    const std::span<std::byte> memory = peer.value().memory();
    for (std::size_t i = 0; i < 3 * kMiB; ++i) ASSERT_EQ(memory[i], std::byte{7});
    memory[0] = std::byte{8};
    EXPECT_EQ(memory[0], std::byte{8});
    EXPECT_EQ(arenasMapped(), before + 1);
  }
  EXPECT_EQ(arenasMapped(), before);
}

}  // namespace
}  // namespace tutti
