// Machines that are described in a line, this machine, bindings, and what is answered where hwloc cannot read.
#include "topology/discover.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <string>

namespace tutti {
namespace {

PuSet upTo(int count) {
  PuSet pus;
  for (int pu = 0; pu < count; ++pu) pus.insert(pu);
  return pus;
}

Machine described(const std::string& text, const PuSet& binding = upTo(1024)) {
  return discover({text, binding});
}

TEST(Discover, HyperthreadsOfACoreAreTogether) {
  const Machine machine = described("pack:2 core:4 pu:2");
  EXPECT_EQ(machine.unknown, "");
  EXPECT_EQ(machine.pus, upTo(16));
  EXPECT_EQ(machine.allowed, machine.pus);
  EXPECT_EQ(machine.usable, machine.pus);
  ASSERT_EQ(machine.packages.size(), 2u);
  EXPECT_EQ(machine.packages[0].pus, upTo(8));
  ASSERT_EQ(machine.cores.size(), 8u);
  for (int core = 0; core < 8; ++core) {
    EXPECT_EQ(machine.cores[static_cast<std::size_t>(core)].pus, (PuSet{2 * core, 2 * core + 1}));
    EXPECT_EQ(machine.cores[static_cast<std::size_t>(core)].package, core / 4);
  }
}

TEST(Discover, CachesKnowWhoSharesThem) {
  const Machine machine = described(
      "pack:2 l3:1(size=33554432) l2:2(size=1048576) l1d:1(size=32768) l1i:1(size=65536) core:1 pu:2");
  ASSERT_EQ(machine.caches.size(), 4u + 4u + 2u) << "caches of instructions are left out";
  EXPECT_EQ(machine.cacheBytes(1), 32u << 10);
  EXPECT_EQ(machine.cacheBytes(2), 1u << 20);
  EXPECT_EQ(machine.cacheBytes(3), 32u << 20);
  for (const Cache& cache : machine.caches) EXPECT_EQ(cache.pus.size(), cache.level == 3 ? 4u : 2u);
}

TEST(Discover, NumaNodesHaveMemoryAndPus) {
  const Machine machine = described("pack:2 [numa(memory=3221225472)] core:2 pu:1");
  ASSERT_EQ(machine.numaNodes.size(), 2u);
  EXPECT_EQ(machine.numaNodes[0].bytes, std::uint64_t{3} << 30);
  EXPECT_EQ(machine.numaNodes[0].pus, (PuSet{0, 1}));
  EXPECT_EQ(machine.numaNodes[1].number, 1);
  EXPECT_EQ(machine.numaNodes[1].pus, (PuSet{2, 3}));
}

TEST(Discover, WithoutNumaThereIsOneNode) {
  const Machine machine = described("core:3 pu:1");
  ASSERT_EQ(machine.numaNodes.size(), 1u);
  EXPECT_EQ(machine.numaNodes[0].pus, upTo(3));
  EXPECT_TRUE(machine.packages.empty());
  ASSERT_EQ(machine.cores.size(), 3u);
  EXPECT_EQ(machine.cores[0].package, std::nullopt) << "not known, rather than the first";
}

TEST(Discover, OnePu) {
  const Machine machine = described("pack:1 core:1 pu:1");
  EXPECT_EQ(machine.pus, PuSet{0});
  ASSERT_EQ(machine.cores.size(), 1u);
  EXPECT_EQ(machine.cores[0].pus, PuSet{0});
}

TEST(Discover, TheBindingLeavesTheMachineWhole) {
  const Machine machine = described("pack:2 core:4 pu:2", {3, 9, 700});
  EXPECT_EQ(machine.usable, (PuSet{3, 9}));
  EXPECT_EQ(machine.allowed.size(), 16u);
  EXPECT_EQ(machine.cores.size(), 8u);
}

TEST(Discover, WhatCannotBeReadIsGuessedWithAReason) {
  const Machine machine = described("pack:2 rubbish:4", {1, 5});
  EXPECT_NE(machine.unknown.find("topology_set_synthetic of hwloc failed"), std::string::npos)
      << machine.unknown;
  EXPECT_EQ(machine.pus, (PuSet{1, 5}));
  EXPECT_EQ(machine.usable, (PuSet{1, 5}));
  EXPECT_TRUE(machine.cores.empty() && machine.caches.empty() && machine.numaNodes.empty());
}

TEST(Discover, TheKernelHasTheLastWordOnWhatIsUsable) {
  const Machine machine = described("core:2 pu:1", {7});
  EXPECT_EQ(machine.usable, PuSet{7});
  EXPECT_NE(machine.unknown, "");
}

// Ends with 0 where `body` is true, in a process of its own.
bool inChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(DiscoverHere, IsWhatTheThreadMayUse) {
  const PuSet binding = bindingOfThisThread();
  cpu_set_t before;
  if (sched_getaffinity(0, sizeof(before), &before) == 0) {
    EXPECT_EQ(binding.size(), static_cast<std::size_t>(CPU_COUNT(&before)));
  }
  const Machine machine = discover();
  EXPECT_EQ(machine.usable, binding);
  EXPECT_EQ(bindingOfThisThread(), binding) << "it was changed";
  EXPECT_EQ(machine.unknown, "");
  EXPECT_FALSE(machine.cores.empty() || machine.numaNodes.empty());
  for (const Package& package : machine.packages) {
#if defined(__x86_64__)
    EXPECT_NE(package.vendor, "");
#endif
    EXPECT_FALSE(package.pus.empty());
  }
}

// As under taskset.
TEST(DiscoverHere, BoundToOnePu) {
  const Machine whole = discover();
  const int last = *whole.usable.rbegin();
  EXPECT_TRUE(inChild([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(last), &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0) return false;
    const Machine machine = discover();
    return machine.usable == PuSet{last} && machine.pus == whole.pus &&
           machine.cores.size() == whole.cores.size() && bindingOfThisThread() == PuSet{last};
  }));
}

// A system without /sys and /proc: PUs, but no cores.
TEST(DiscoverHere, WithoutSys) {
  EXPECT_TRUE(inChild([] {
    setenv("HWLOC_FSROOT", "/proc/self/fdinfo", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    const PuSet binding = bindingOfThisThread();
    const Machine machine = discover();
    return machine.usable == binding && machine.cores.empty() && machine.caches.empty() &&
           !machine.unknown.empty();
  }));
}

TEST(DiscoverHere, AnotherMachineInTheEnvironmentIsNotThisOne) {
  EXPECT_TRUE(inChild([] {
    setenv("HWLOC_SYNTHETIC", "pack:2 core:64 pu:2", 1);
    const PuSet binding = bindingOfThisThread();
    const Machine machine = discover();
    return machine.pus == binding && machine.cores.empty() &&
           machine.unknown.find("another machine") != std::string::npos;
  }));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// All memory but `room` bytes is taken. hwloc 2.9 crashes for some of them, if it is let.
TEST(DiscoverHere, WithoutMemory) {
  for (std::size_t room = 0; room <= 40'000; room += 400) {
    EXPECT_TRUE(inChild([room] {
      rlimit limit = {};
      getrlimit(RLIMIT_AS, &limit);
      limit.rlim_cur = 0;
      setrlimit(RLIMIT_AS, &limit);
      void* const kept = std::malloc(room);
      for (std::size_t bytes = 1 << 20; bytes >= 16; bytes = bytes > 1024 ? bytes / 2 : bytes - 16)
        while (std::malloc(bytes) != nullptr) continue;
      std::free(kept);
      try {
        return !discover().unknown.empty();
      } catch (const std::bad_alloc&) {
        return true;
      }
    })) << room;
  }
}
#endif

}  // namespace
}  // namespace tutti
