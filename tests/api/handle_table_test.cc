// Handles from inside: generations, stale handles, and objects that live until their last holder lets go.
#include "api/handle_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "api/communicator.h"
#include "api/local_group.h"

namespace tutti {
namespace {

class HandleTableTest : public testing::Test {
 protected:
  HandleTableTest() : group_(LocalGroup::make(2, "test", Settings()).value()) {}

  tuttiComm_t add(int rank = 0) {
    return table_.add(std::make_unique<Communicator>(group_, rank, Log(LogLevel::none))).value();
  }
  // As tuttiCommDestroy does it.
  bool end(tuttiComm_t handle) {
    if (table_.acquire(handle) == nullptr) return false;
    const bool retired = table_.retire(handle);
    table_.release(handle);
    return retired;
  }
  bool isGone(int rank) { return group_->rollCall.board(rank).hasLeft(); }

  std::shared_ptr<RankGroup> group_;
  HandleTable table_;
};

TEST_F(HandleTableTest, FindsWhatWasAdded) {
  const tuttiComm_t first = add(0), second = add(1);
  EXPECT_NE(first, second);
  Communicator* const communicator = table_.acquire(first);
  ASSERT_NE(communicator, nullptr);
  EXPECT_EQ(communicator->rank(), 0);
  table_.release(first);
  EXPECT_EQ(table_.acquire(second)->rank(), 1);
  table_.release(second);
  EXPECT_TRUE(end(first));
  EXPECT_TRUE(end(second));
}

TEST_F(HandleTableTest, FindsNothingElse) {
  const tuttiComm_t handle = add();
  const auto word = reinterpret_cast<std::uint64_t>(handle);
  for (const std::uint64_t other :
       {std::uint64_t{0}, std::uint64_t{1}, word + 1, word - 1, word + (std::uint64_t{1} << 32),
        word + (std::uint64_t{2} << 32), word & 0xffffffff, ~std::uint64_t{0}, word | 0xffff0000u})
    EXPECT_EQ(table_.acquire(reinterpret_cast<tuttiComm_t>(other)), nullptr) << std::hex << other;
  EXPECT_TRUE(end(handle));
}

TEST_F(HandleTableTest, ASlotIsUsedAgainUnderAnotherHandle) {
  std::vector<tuttiComm_t> stale;
  for (int i = 0; i < 100; ++i) {
    const tuttiComm_t handle = add();
    for (const tuttiComm_t old : stale) {
      EXPECT_NE(old, handle);
      EXPECT_EQ(table_.acquire(old), nullptr);
    }
    EXPECT_TRUE(end(handle));
    stale.push_back(handle);
  }
  const auto slot = [](tuttiComm_t handle) {
    return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(handle));
  };
  EXPECT_EQ(slot(stale.front()), slot(stale.back()));
}

TEST_F(HandleTableTest, LivesUntilTheLastHolderLetsGo) {
  const tuttiComm_t handle = add();
  Communicator* const held = table_.acquire(handle);
  EXPECT_TRUE(end(handle));
  EXPECT_EQ(table_.acquire(handle), nullptr);
  EXPECT_FALSE(isGone(0));
  EXPECT_EQ(held->rank(), 0);
  table_.release(handle);
  EXPECT_TRUE(isGone(0));
}

TEST_F(HandleTableTest, IsRetiredOnce) {
  const tuttiComm_t handle = add();
  table_.acquire(handle);
  EXPECT_TRUE(table_.retire(handle));
  EXPECT_FALSE(table_.retire(handle));
  table_.release(handle);
  EXPECT_TRUE(isGone(0));
  EXPECT_FALSE(table_.retire(handle));
}

// Half of the threads try stale handles while slots are retired and used again.
TEST_F(HandleTableTest, UnderManyThreads) {
  std::atomic<tuttiComm_t> current{add()};
  std::atomic<bool> stop{false};
  std::atomic<long> found{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        const tuttiComm_t handle = current;
        if (Communicator* communicator = table_.acquire(handle)) {
          EXPECT_EQ(communicator->nranks(), 2);
          ++found;
          table_.release(handle);
        }
      }
    });
  for (int i = 0; i < 2000; ++i) {
    const tuttiComm_t old = current;
    if (i % 2 == 0) {
      current = add();
      EXPECT_TRUE(end(old));
    } else {
      EXPECT_TRUE(end(old));  // the others go on with a stale one
      current = add();
    }
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(end(current));
}

TEST_F(HandleTableTest, IsEnteredByOneAtATime) {
  const tuttiComm_t handle = add();
  Communicator* const entered = table_.enter(handle);
  ASSERT_NE(entered, nullptr);
  EXPECT_EQ(table_.enter(handle), nullptr);
  EXPECT_EQ(table_.acquire(handle), entered);  // asking goes on
  table_.release(handle);
  table_.leave(handle);
  EXPECT_EQ(table_.enter(handle), entered);
  EXPECT_TRUE(table_.retire(handle));  // as tuttiCommDestroy does it
  EXPECT_FALSE(isGone(0));
  table_.leave(handle);
  EXPECT_TRUE(isGone(0));
  EXPECT_EQ(table_.enter(handle), nullptr);
}

// An abort from another thread: the object goes with the one who is inside.
TEST_F(HandleTableTest, LivesUntilItIsLeft) {
  const tuttiComm_t handle = add();
  Communicator* const entered = table_.enter(handle);
  EXPECT_TRUE(end(handle));
  EXPECT_FALSE(isGone(0));
  EXPECT_EQ(entered->rank(), 0);
  EXPECT_EQ(table_.enter(handle), nullptr);
  EXPECT_EQ(table_.acquire(handle), nullptr);
  table_.leave(handle);
  EXPECT_TRUE(isGone(0));
}

// A stale handle does not enter the slot's next user.
TEST_F(HandleTableTest, AStaleHandleIsNotEntered) {
  const tuttiComm_t stale = add(0);
  EXPECT_TRUE(end(stale));
  const tuttiComm_t handle = add(1);
  EXPECT_EQ(table_.enter(stale), nullptr);
  Communicator* const entered = table_.enter(handle);
  ASSERT_NE(entered, nullptr);
  EXPECT_EQ(entered->rank(), 1);
  table_.leave(handle);
  EXPECT_TRUE(end(handle));
}

// One thread enters and leaves while another ends the handles: nobody is inside of what is gone, and all that
// ended is gone once a new one is made.
TEST_F(HandleTableTest, EnteredWhileItEnds) {
  std::atomic<tuttiComm_t> current{add()};
  std::atomic<bool> stop{false};
  std::thread user([&] {
    while (!stop) {
      const tuttiComm_t handle = current;
      if (Communicator* communicator = table_.enter(handle)) {
        EXPECT_EQ(communicator->nranks(), 2);
        table_.leave(handle);
      }
    }
  });
  for (int i = 0; i < 5000; ++i) {
    const tuttiComm_t old = current;
    current = add();
    EXPECT_TRUE(end(old));
  }
  stop = true;
  user.join();
  const tuttiComm_t last = add(1);
  EXPECT_EQ(group_.use_count(), 3);  // the test's own, current and last
  EXPECT_TRUE(end(current));
  EXPECT_TRUE(end(last));
  EXPECT_EQ(group_.use_count(), 1);
}

TEST_F(HandleTableTest, AForkEndsAllHandlesInTheChildOnly) {
  const tuttiComm_t handle = add();
  table_.beforeFork();
  table_.afterFork(false);
  EXPECT_NE(table_.acquire(handle), nullptr);
  table_.release(handle);
  // The child, played by this process in a process of its own, because it gives nothing back.
  const auto playChild = [&] {
    table_.acquire(handle);
    table_.beforeFork();
    table_.afterFork(true);
    if (table_.acquire(handle) != nullptr) _exit(1);
    table_.release(handle);  // what was held before the fork
    const tuttiComm_t own = add(1);
    if (own == handle || table_.acquire(own) == nullptr) _exit(2);
    table_.release(own);
    _exit(end(own) && table_.acquire(handle) == nullptr ? 0 : 3);
  };
  EXPECT_EXIT(playChild(), testing::ExitedWithCode(0), "");
  EXPECT_TRUE(end(handle));
}

}  // namespace
}  // namespace tutti
