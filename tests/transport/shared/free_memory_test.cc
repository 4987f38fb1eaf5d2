// What the kernel would still give: read from files as machines and containers have them.
#include "transport/shared/free_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace tutti {
namespace {

class FreeMemoryTest : public testing::Test {
 protected:
  FreeMemoryTest()
      : root_(std::filesystem::temp_directory_path() / ("tutti-free-memory-" + std::to_string(getpid()))) {}
  ~FreeMemoryTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  void writeMachine() {
    write("proc/meminfo", "MemTotal: 999 kB\nMemAvailable:    100 kB\nHugePages_Free: 3\nSwapFree: 20 kB\n");
  }

  const std::filesystem::path root_;
};

TEST_F(FreeMemoryTest, IsUnknownWithoutTheKernelsFiles) {
  EXPECT_FALSE(freeMemory(root_).has_value());
}

TEST_F(FreeMemoryTest, IsWhatTheMachineHas) {
  writeMachine();
  EXPECT_EQ(freeMemory(root_)->bytes, 120u * 1024);
  EXPECT_EQ(freeMemory(root_)->limitedBy, "this machine");
}

TEST_F(FreeMemoryTest, IsWhatACgroupOfVersion2Leaves) {
  writeMachine();
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/memory.max", "9000\n");
  write("sys/fs/cgroup/job/memory.current", "5000\n");
  write("sys/fs/cgroup/job/memory.stat", "anon 4000\ninactive_file 300\nactive_file 200\nslab 7\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/step/memory.current", "5000\n");
  EXPECT_EQ(freeMemory(root_)->bytes, 4500u);
  EXPECT_EQ(freeMemory(root_)->limitedBy, "the memory cgroup " + (root_ / "sys/fs/cgroup/job").string());
}

TEST_F(FreeMemoryTest, IsWhatACgroupOfVersion1Leaves) {
  writeMachine();
  write("proc/self/cgroup", "5:cpu,cpuacct:/other\n4:memory:/job\n0::/\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "123456\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9000\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "9500\n");
  write("sys/fs/cgroup/memory/job/memory.stat",
        "inactive_file 1\nactive_file 2\ntotal_inactive_file 600\ntotal_active_file 100\n");
  EXPECT_EQ(freeMemory(root_)->bytes, 200u);
}

// A container sees its own group as the root, under the name that the host has for it.
TEST_F(FreeMemoryTest, LooksAtTheRootWhereTheGroupIsHidden) {
  writeMachine();
  write("proc/self/cgroup", "0::/../../pod\n");
  write("sys/fs/cgroup/memory.max", "9000\n");
  write("sys/fs/cgroup/memory.current", "9001\n");
  EXPECT_EQ(freeMemory(root_)->bytes, 0u);
}

TEST_F(FreeMemoryTest, IsKnownHere) {
  ASSERT_TRUE(freeMemory().has_value());
  EXPECT_GT(freeMemory()->bytes, 0u);
}

}  // namespace
}  // namespace tutti
