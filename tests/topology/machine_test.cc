// The questions that a machine answers, and how it is told.
#include "topology/machine.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

// As with performance and efficiency cores: the second level is not the same everywhere.
Machine uneven() {
  Machine machine;
  machine.pus = machine.allowed = machine.usable = {0, 1, 2, 3};
  machine.packages = {{machine.pus, ""}};
  machine.cores = {{{0, 1}, 0}, {{2}, 0}, {{3}, 0}};
  machine.caches = {{1, 48 << 10, {0, 1}}, {2, 2 << 20, {0, 1}}, {2, 4 << 20, {2, 3}}, {3, {}, {0, 1, 2, 3}}};
  return machine;
}

TEST(Machine, HasTheCacheOfWhereItRuns) {
  Machine machine = uneven();
  EXPECT_EQ(machine.cacheBytes(2), 2u << 20);
  EXPECT_EQ(machine.cacheBytes(3), std::nullopt) << "size not known";
  EXPECT_EQ(machine.cacheBytes(4), std::nullopt) << "not there";
  machine.usable = {3};
  EXPECT_EQ(machine.cacheBytes(2), 4u << 20);
  EXPECT_EQ(machine.cacheBytes(1), std::nullopt);
  EXPECT_EQ(Machine().cacheBytes(2), std::nullopt);
}

TEST(Machine, IsDescribed) {
  Machine machine = uneven();
  EXPECT_EQ(machine.describe(), "1 package, 3 cores, 4 processing units, L1 48 KiB, L2 2 MiB");
  machine.usable = {2};
  machine.numaNodes = {{0, {}, machine.pus}, {1, {}, {}}};
  EXPECT_EQ(machine.describe(), "1 package, 3 cores, 4 processing units (1 usable), L2 4 MiB, 2 NUMA nodes");
  Machine guessed;
  guessed.pus = guessed.allowed = guessed.usable = {5};
  guessed.unknown = "no reason";
  EXPECT_EQ(guessed.describe(), "1 processing unit (no reason)");
}

}  // namespace
}  // namespace tutti
