// Memory of tuttiMemAlloc while the library itself runs out of memory: nothing of the arena stays taken.
#include <gtest/gtest.h>

#include "api/process.h"
#include "tests/support/failing_new.h"

namespace tutti {
namespace {

TEST(Allocations, KeepNothingOfTheArenaWhateverFails) {
  Process& process = Process::get();
  const auto arena = process.arena();
  ASSERT_TRUE(arena.isOk()) << arena.status().message();
  int failures = 0;
  void* memory = nullptr;
  failEachAllocation(
      [&] {
        const auto allocated = process.allocate(5 << 20);
        if (allocated.isOk()) memory = allocated.value();
      },
      [&] {
        failures += memory == nullptr;
        EXPECT_TRUE(process.free(memory).isOk());
        memory = nullptr;
        EXPECT_EQ(arena.value()->used(), 0u);
      });
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace tutti
