// The arena of a process: pages that are zero, reserved and given back; and a system that says no is answered,
// with the remedy.
#include "transport/shared/arena.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "child.h"
#include "fallocate_hook.h"
#include "limits.h"
#include "tests/support/failing_new.h"
#include "tests/support/traces.h"

namespace tutti {
namespace {

constexpr std::size_t kMiB = 1 << 20;

std::unique_ptr<Arena> arenaOf(std::size_t bytes) {
  return std::move(Arena::make(bytes)).value();
}

bool isAll(const std::byte* data, std::size_t bytes, int value) {
  return std::all_of(data, data + bytes, [value](std::byte b) { return b == std::byte(value); });
}

std::int64_t residentBytes(const Arena& arena) {
  struct stat status = {};
  fstat(arena.descriptor(), &status);
  return status.st_blocks * 512;
}

// That `result` says what and what to do.
template <class T>
void expectRefusal(const Result<T>& result, const std::string& what, const std::string& remedy) {
  ASSERT_FALSE(result.isOk());
  EXPECT_EQ(result.status().code(), Code::systemError);
  EXPECT_NE(result.status().message().find(what), std::string::npos) << result.status().message();
  EXPECT_NE(result.status().message().find(remedy), std::string::npos) << result.status().message();
}

TEST(Arena, IsLargeAndTakesNothing) {
  const auto arena = std::move(Arena::make()).value();
  EXPECT_GE(arena->bytes(), Arena::kLeastBytes);
  EXPECT_EQ(Arena::kMostBytes % arena->bytes(), 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena->base()) % kHugePage, 0u);
  EXPECT_EQ(arena->used(), 0u);
  EXPECT_EQ(residentBytes(*arena), 0);
}

TEST(Arena, GivesWholeZeroedPages) {
  const auto arena = arenaOf(64 * kMiB);
  std::size_t sum = 0;
  std::vector<std::uint64_t> offsets;
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{4096}, std::size_t{4097}, 5 * kMiB, std::size_t{0}}) {
    const std::uint64_t offset = arena->allocate(bytes).value();
    const std::size_t whole = std::max<std::size_t>((bytes + 4095) / 4096 * 4096, 4096);
    EXPECT_EQ(offset % 4096, 0u);
    ASSERT_LE(offset + whole, arena->bytes());
    EXPECT_TRUE(isAll(arena->base() + offset, whole, 0));
    std::fill_n(arena->base() + offset, whole, std::byte{1});
    sum += whole;
    EXPECT_EQ(arena->used(), sum);
    offsets.push_back(offset);
  }
  std::sort(offsets.begin(), offsets.end());
  EXPECT_EQ(std::unique(offsets.begin(), offsets.end()), offsets.end());
}

TEST(Arena, LargeOnesBeginOnHugePages) {
  // Of a size that the kernel has no reason to align.
  const auto arena = arenaOf(64 * kMiB + 3 * 4096);
  EXPECT_EQ(arena->bytes(), 64 * kMiB + 3 * 4096);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena->base()) % kHugePage, 0u);
  EXPECT_EQ(arena->allocate(1).value(), 0u);
  EXPECT_EQ(arena->allocate(kHugePage).value() % kHugePage, 0u);
  EXPECT_EQ(arena->allocate(3 * kHugePage + 1).value() % kHugePage, 0u);
  EXPECT_EQ(arena->allocate(1).value(), 4096u);
}

TEST(Arena, IsReservedWhenItIsGiven) {
  const auto arena = arenaOf(64 * kMiB);
  ASSERT_TRUE(arena->allocate(5 * kMiB + 1).isOk());
  EXPECT_GE(residentBytes(*arena), static_cast<std::int64_t>(5 * kMiB + 1));
}

TEST(Arena, FreedMemoryGoesBackToTheSystem) {
  const auto arena = arenaOf(256 * kMiB);
  const std::uint64_t small = arena->allocate(10'000).value();
  const std::int64_t before = residentBytes(*arena);
  const std::uint64_t large = arena->allocate(128 * kMiB).value();
  EXPECT_GE(residentBytes(*arena), before + static_cast<std::int64_t>(128 * kMiB));
  arena->free(large);
  EXPECT_EQ(residentBytes(*arena), before);
  arena->free(small);
  EXPECT_EQ(residentBytes(*arena), 0);
  EXPECT_EQ(arena->used(), 0u);
}

TEST(Arena, FreedMemoryIsGivenAgainAndZero) {
  const auto arena = arenaOf(64 * kMiB);
  const std::uint64_t first = arena->allocate(100'000).value();
  const std::uint64_t second = arena->allocate(50'000).value();
  std::fill_n(arena->base() + first, 100'000, std::byte{1});
  std::fill_n(arena->base() + second, 50'000, std::byte{2});
  arena->free(first);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t again = arena->allocate(100'000).value();
    EXPECT_EQ(again, first);
    EXPECT_TRUE(isAll(arena->base() + again, 100'000, 0));
    std::fill_n(arena->base() + again, 100'000, std::byte{3});
    arena->free(again);
  }
  EXPECT_TRUE(isAll(arena->base() + second, 50'000, 2));
  arena->free(12'288);  // nothing that was given
  EXPECT_EQ(arena->used(), 53'248u);
}

TEST(Arena, SaysWhereMemoryLies) {
  const auto arena = arenaOf(64 * kMiB);
  const std::uint64_t first = arena->allocate(4096).value();
  const std::uint64_t second = arena->allocate(8192).value();
  EXPECT_EQ(arena->offsetOf(arena->base() + first, 4096), first);
  EXPECT_EQ(arena->offsetOf(arena->base() + second + 100, 8092), second + 100);
  EXPECT_EQ(arena->offsetOf(arena->base() + second, 0), second);
  EXPECT_EQ(arena->offsetOf(arena->base() + second + 100, 8093), std::nullopt);
  EXPECT_EQ(arena->offsetOf(arena->base() + first, 4097), std::nullopt) << "two allocations";
  EXPECT_EQ(arena->offsetOf(arena->base() + first, SIZE_MAX), std::nullopt);
  EXPECT_EQ(arena->offsetOf(arena->base() + second + 8192, 1), std::nullopt);
  EXPECT_EQ(arena->offsetOf(arena->base() - 1, 1), std::nullopt);
  EXPECT_EQ(arena->offsetOf(&first, 1), std::nullopt);
  EXPECT_EQ(arena->offsetOf(nullptr, 0), std::nullopt);
  arena->free(second);
  EXPECT_EQ(arena->offsetOf(arena->base() + second, 1), std::nullopt);
}

TEST(Arena, ServesManyThreadsAtOnce) {
  const auto arena = arenaOf(64 * kMiB);
  std::vector<std::thread> threads;
  for (int id = 1; id <= 4; ++id) {
    threads.emplace_back([&arena, id] {
      for (int i = 0; i < 300; ++i) {
        const std::size_t bytes = static_cast<std::size_t>(1 + i * 7919 % 60'000);
        const std::uint64_t offset = arena->allocate(bytes).value();
        ASSERT_TRUE(isAll(arena->base() + offset, bytes, 0));
        std::fill_n(arena->base() + offset, bytes, std::byte(id));
        ASSERT_TRUE(isAll(arena->base() + offset, bytes, id));
        ASSERT_EQ(arena->offsetOf(arena->base() + offset, bytes), offset);
        arena->free(offset);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(arena->used(), 0u);
  EXPECT_EQ(residentBytes(*arena), 0);
}

TEST(Arena, ThatIsFullSaysSoAndGoesOn) {
  const auto arena = arenaOf(kMiB);
  EXPECT_EQ(arena->bytes(), kMiB);
  const std::uint64_t most = arena->allocate(kMiB - 4096).value();
  for (const std::size_t bytes : {std::size_t{4097}, 2 * kMiB, SIZE_MAX, SIZE_MAX - 4094})
    expectRefusal(arena->allocate(bytes), std::to_string(bytes), "ulimit -v");
  EXPECT_TRUE(arena->allocate(4096).isOk());
  arena->free(most);
  EXPECT_TRUE(arena->allocate(kMiB - 4096).isOk());
}

TEST(Arena, AsksWhatTheMachineHasLeft) {
  const std::filesystem::path root = std::filesystem::temp_directory_path() / std::to_string(getpid());
  std::filesystem::create_directories(root / "proc");
  std::ofstream(root / "proc/meminfo") << "MemAvailable: 10240 kB\nSwapFree: 0 kB\n";
  const auto arena = std::move(Arena::make(64 * kMiB, root)).value();
  expectRefusal(arena->allocate(16 * kMiB), "10485760", "memory cgroup");
  EXPECT_EQ(arena->used(), 0u);
  EXPECT_EQ(residentBytes(*arena), 0);
  EXPECT_TRUE(arena->allocate(8 * kMiB).isOk());
  std::filesystem::remove_all(root);
}

TEST(Arena, AnswersWhenTheKernelHasNoMemory) {
  Child child([] {
    const auto arena = arenaOf(64 * kMiB);
    ASSERT_TRUE(refuseSystemCall(SYS_fallocate, ENOSPC));
    expectRefusal(arena->allocate(8 * kMiB), "8388608", "Free memory");
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Arena, BeginsAgainWhatASignalInterrupts) {
  const auto arena = arenaOf(64 * kMiB);
  int interruptions = 3;
  beforeFallocate = [&interruptions](int) { return interruptions-- <= 0; };
  const auto offset = arena->allocate(5 * kMiB);
  ASSERT_TRUE(offset.isOk()) << offset.status().message();
  EXPECT_LE(interruptions, 0);
  interruptions = 2;
  arena->free(offset.value());
  beforeFallocate = nullptr;
  EXPECT_LE(interruptions, 0);
  EXPECT_EQ(arena->used(), 0u);
  EXPECT_EQ(residentBytes(*arena), 0);
}

TEST(Arena, StaysBelowTheLimitOnFiles) {
  Child child([] {
    ASSERT_TRUE(setLimit(RLIMIT_FSIZE, 300 * kMiB));
    const auto arena = arenaOf(Arena::kMostBytes);
    EXPECT_EQ(arena->bytes(), 256 * kMiB);
    ASSERT_TRUE(setLimit(RLIMIT_FSIZE, 10 * kMiB));
    expectRefusal(Arena::make(), "10485760", "ulimit -f");
    ASSERT_TRUE(arena->allocate(20 * kMiB).isOk());
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Arena, NeedsOneDescriptor) {
  Child child([] {
    ASSERT_TRUE(setLimit(RLIMIT_NOFILE, 64));
    std::vector<FileDescriptor> files;
    for (int file = dup(0); file >= 0; file = dup(0)) files.emplace_back(file);
    expectRefusal(Arena::make(), "memfd_create", "ulimit -n");
    files.pop_back();
    EXPECT_TRUE(Arena::make().isOk());
    EXPECT_GE(dup(0), 0) << "a descriptor was not closed";
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Arena, SaysWhichCallIsNotAllowed) {
  for (const auto& [number, name] : {std::pair(SYS_memfd_create, "memfd_create"), {SYS_fcntl, "fcntl"}}) {
    Child child([number = number, name = name] {
      ASSERT_TRUE(refuseSystemCall(static_cast<int>(number), EPERM));
      expectRefusal(Arena::make(), name, "seccomp");
    });
    EXPECT_EQ(child.wait(), 0);
  }
}

TEST(Arena, IsSmallerWhereTheAddressSpaceIsLimited) {
  if (!kLimitsAddressSpace) GTEST_SKIP() << "a sanitizer's shadow does not fit a limited address space";
  Child child([] {
    ASSERT_TRUE(setLimit(RLIMIT_AS, addressSpace() + 9 * 1024 * kMiB));
    const auto arena = arenaOf(Arena::kMostBytes);
    EXPECT_EQ(arena->bytes(), 1024 * kMiB);
    EXPECT_TRUE(arena->allocate(kMiB).isOk());
    ASSERT_TRUE(setLimit(RLIMIT_AS, addressSpace() + 32 * kMiB));
    expectRefusal(Arena::make(), "address space", "ulimit -v");
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Arena, CannotBeResizedOrInherited) {
  const auto arena = arenaOf(64 * kMiB);
  const int file = arena->descriptor();
  EXPECT_EQ(fcntl(file, F_GET_SEALS) & Arena::kSeals, Arena::kSeals);
  EXPECT_NE(ftruncate(file, 0), 0);
  EXPECT_NE(ftruncate(file, static_cast<off_t>(128 * kMiB)), 0);
  EXPECT_NE(fcntl(file, F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_EQ(fcntl(file, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(Arena, IsSharedWithAForkedChildThatCannotAllocate) {
  const auto arena = arenaOf(64 * kMiB);
  const std::uint64_t offset = arena->allocate(4096).value();
  arena->base()[offset] = std::byte{1};
  Child child([&] {
    EXPECT_EQ(arena->base()[offset], std::byte{1});
    arena->base()[offset + 1] = std::byte{2};
    const auto refused = arena->allocate(4096);
    EXPECT_EQ(refused.status().code(), Code::invalidUsage);
    EXPECT_NE(refused.status().message().find("fork"), std::string::npos);
    arena->free(offset);
  });
  EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(arena->base()[offset], std::byte{1});
  EXPECT_EQ(arena->base()[offset + 1], std::byte{2});
  EXPECT_EQ(arena->used(), 4096u);
}

// Of the process's own memory.
TEST(Arena, KeepsNothingWhateverAllocationFails) {
  const auto arena = arenaOf(64 * kMiB);
  int failures = 0;
  bool isGiven = false;
  std::uint64_t offset = 0;
  failEachAllocation(
      [&] {
        const auto allocated = arena->allocate(5 * kMiB);
        isGiven = allocated.isOk();
        if (isGiven) offset = allocated.value();
      },
      [&] {
        failures += !isGiven;
        if (std::exchange(isGiven, false)) arena->free(offset);
        EXPECT_EQ(arena->used(), 0u);
      });
  EXPECT_GT(failures, 0);
}

TEST(Arena, UnmapsAtItsEnd) {
  const int before = arenasMapped();
  {
    const auto arena = arenaOf(64 * kMiB);
    EXPECT_EQ(arenasMapped(), before + 1);
  }
  EXPECT_EQ(arenasMapped(), before);
}

}  // namespace
}  // namespace tutti
