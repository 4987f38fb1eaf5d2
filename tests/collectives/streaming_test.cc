// From which size on steps on windows write past the caches.
#include "collectives/streaming.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

Machine machineOf(const char* vendor, std::optional<std::uint64_t> l2) {
  Machine machine;
  machine.pus = machine.allowed = machine.usable = {0, 1};
  machine.packages = {{machine.pus, vendor}};
  machine.caches = {{1, 48 << 10, {0}}, {2, l2, {0}}, {3, 32 << 20, machine.pus}};
  return machine;
}

constexpr std::uint64_t kElsewhere = 32 << 20;

TEST(Streaming, BeginsBeyondTheSecondLevelOfIntel) {
  EXPECT_EQ(streamingThreshold(machineOf("GenuineIntel", 2 << 20)), (2u << 20) + 1);
  EXPECT_EQ(streamingThreshold(machineOf("GenuineIntel", 1 << 20)), (1u << 20) + 1);
}

TEST(Streaming, BeginsLaterElsewhere) {
  EXPECT_EQ(streamingThreshold(machineOf("AuthenticAMD", 1 << 20)), kElsewhere);
  EXPECT_EQ(streamingThreshold(machineOf("", 1 << 20)), kElsewhere);
}

TEST(Streaming, BeginsLaterWhereLittleIsKnown) {
  EXPECT_EQ(streamingThreshold(machineOf("GenuineIntel", {})), kElsewhere);
  EXPECT_EQ(streamingThreshold(Machine()), kElsewhere);
}

}  // namespace
}  // namespace tutti
