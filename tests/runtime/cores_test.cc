// Whether there is a core for each rank: counted over all threads, each core once.
#include "runtime/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <thread>

namespace tutti {
namespace {

TEST(Cores, AreCountedOnce) {
  CoreSet set;
  Cores cores(set, 3);
  EXPECT_FALSE(cores.suffice());
  cores.add(0);
  cores.add(63);
  cores.add(63);
  EXPECT_FALSE(cores.suffice());
  cores.add(64);
  EXPECT_TRUE(cores.suffice());
}

TEST(Cores, OfThisMachine) {
  CoreSet set;
  Cores one(set, 1);
  one.addThisThread();
  EXPECT_TRUE(one.suffice());
  Cores many(set, Cores::kMost + 1);
  many.addThisThread();
  EXPECT_FALSE(many.suffice());
}

// Threads that are bound to a core each have together as many as there are.
TEST(Cores, OfBoundThreads) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  if (CPU_COUNT(&allowed) < 2) GTEST_SKIP() << "needs two cores";
  CoreSet set;
  Cores cores(set, 2);
  int bound = 0;
  for (int core = 0; core < CPU_SETSIZE && bound < 2; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    EXPECT_FALSE(cores.suffice());
    ++bound;
    std::thread([&] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(core, &one);
      ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
      cores.addThisThread();
    }).join();
  }
  EXPECT_TRUE(cores.suffice());
}

}  // namespace
}  // namespace tutti
