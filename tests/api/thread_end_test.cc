// Threads that end with a group open: it is dropped and holds nothing back, and whatever destructors of the
// thread run before or after that may go on calling the library.
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <thread>

#include "tests/support/communicators.h"

namespace tutti {
namespace {

class ThreadEnd : public testing::Test {
 protected:
  // In the thread that ends.
  void open() {
    EXPECT_EQ(tuttiGroupStart(), tuttiSuccess);
    addRank(0);
  }
  void addRank(int rank) {
    EXPECT_EQ(tuttiAllReduce(&values_[rank], &values_[rank], 1, tuttiInt32, tuttiSum, comms_[rank], nullptr),
              tuttiSuccess);
  }
  void close() {
    addRank(1);
    EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess) << tuttiGetLastError(nullptr);
    EXPECT_EQ(tuttiGroupEnd(), tuttiInvalidUsage);
  }

  void expectRan() const {
    EXPECT_EQ(values_[0], 7);
    EXPECT_EQ(values_[1], 7);
  }
  void expectNothingBegan() const {
    EXPECT_EQ(values_[0], 3);
    EXPECT_EQ(values_[1], 4);
  }

  const Communicators comms_{2};
  int values_[2] = {3, 4};
};

// Runs a function when its thread ends.
struct AtEnd {
  std::function<void()> body;
  ~AtEnd() {
    if (body) body();
  }
};
thread_local AtEnd atEnd;

TEST_F(ThreadEnd, DropsTheGroup) {
  for (int round = 0; round < 3; ++round) {
    std::thread([this] { open(); }).join();
    expectNothingBegan();
  }
  EXPECT_TRUE(works(comms_));
}

TEST_F(ThreadEnd, ThreadLocalMadeBeforeTheGroupClosesIt) {
  std::thread([this] {
    atEnd.body = [this] { close(); };
    open();
  }).join();
  expectRan();
  EXPECT_TRUE(works(comms_));
}

// A key of pthreads whose destructor runs `body` in every round in which it is called.
class AtEndKey {
 public:
  using Body = std::function<void(int round)>;

  AtEndKey() {
    pthread_key_create(&key_, [](void* value) {
      auto* const self = static_cast<AtEndKey*>(value);
      if (++self->round_ < self->rounds_) pthread_setspecific(self->key_, self);
      self->body_(self->round_);
    });
  }
  ~AtEndKey() { pthread_key_delete(key_); }

  void arm(int rounds, Body body) {
    rounds_ = rounds;
    body_ = std::move(body);
    pthread_setspecific(key_, this);
  }

 private:
  pthread_key_t key_;
  int round_ = 0;
  int rounds_ = 0;
  Body body_;
};

TEST_F(ThreadEnd, KeyDestructorClosesTheGroup) {
  AtEndKey key;
  std::thread([&] {
    key.arm(1, [this](int) { close(); });
    open();
  }).join();
  expectRan();
  EXPECT_TRUE(works(comms_));
}

// Long after: the group is gone, and the thread may have another one. (In the last round thread sanitizer has
// taken leave of the thread.)
TEST_F(ThreadEnd, LaterDestructorsFindNoGroup) {
  static constexpr int kLate = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
  AtEndKey key;
  std::thread([&] {
    key.arm(kLate, [this](int round) {
      if (round != kLate) return;
      EXPECT_EQ(tuttiGroupEnd(), tuttiInvalidUsage);
      expectNothingBegan();
      open();
      close();
    });
    open();
  }).join();
  expectRan();
  EXPECT_TRUE(works(comms_));
}

// A communicator that was destroyed meanwhile goes with the group that held it.
TEST(ThreadEndWithoutCommunicator, LetsItGo) {
  for (int round = 0; round < 3; ++round) {
    Communicators comms(2);
    std::thread([&] {
      tuttiGroupStart();
      tuttiBarrier(comms[0], nullptr);
      std::thread([&] { EXPECT_EQ(tuttiCommDestroy(comms.take(0)), tuttiSuccess); }).join();
    }).join();
    EXPECT_NE(tuttiBarrier(comms[1], nullptr), tuttiSuccess);
  }
}

}  // namespace
}  // namespace tutti
