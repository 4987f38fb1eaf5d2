// The process around the library: it may end without destroying anything, fork, and run out of memory; each
// case in a process of its own, which must end by itself and in time.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/no_memory.h"
#include "tests/support/ranks.h"
#include "tests/support/waiting.h"

namespace tutti {
namespace {

struct End {
  int status;
  std::string text;
};

// Runs `body` in a child, which ends by exit(body's answer); what it writes to descriptor 3 comes back.
End inChild(const std::function<int(int output)>& body) {
  int ends[2];
  if (pipe(ends) != 0) return {-1, "pipe"};
  const pid_t child = fork();
  if (child == 0) {
    alarm(100);
    close(ends[0]);
    std::exit(body(ends[1]));
  }
  close(ends[1]);
  End end{0, ""};
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    end.text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, &end.status, 0);
  return end;
}

bool endedWell(const End& end) {
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0;
}

// Answers 0 or the number of the line that failed.
#define CHECK_LINE(condition)                    \
  do {                                           \
    if (!(condition)) return __LINE__ % 250 + 1; \
  } while (false)

TEST(Exit, WithoutDestroy) {
  EXPECT_TRUE(endedWell(inChild([](int) {
    static tuttiComm_t comms[3];
    CHECK_LINE(tuttiCommInitAll(comms, 3, nullptr) == tuttiSuccess);
    void* memory = nullptr;
    CHECK_LINE(tuttiMemAlloc(&memory, 100'000, TUTTI_DEVICE_HOST) == tuttiSuccess);
    tuttiGroupStart();
    for (tuttiComm_t comm : comms) tuttiBarrier(comm, nullptr);
    CHECK_LINE(tuttiGroupEnd() == tuttiSuccess);
    return 0;
  })));
}

// The destructors of other libraries may still call.
TEST(Exit, CallsFromStaticDestructors) {
  EXPECT_TRUE(endedWell(inChild([](int) {
    static tuttiComm_t comm;
    static struct Last {
      ~Last() {
        int value = 1;
        if (tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiSum, comm, nullptr) != tuttiSuccess) _exit(9);
        if (tuttiCommDestroy(comm) != tuttiSuccess) _exit(10);
        if (tuttiCommDestroy(comm) != tuttiInvalidArgument) _exit(11);
        if (std::string(tuttiGetLastError(nullptr)).empty()) _exit(12);
      }
    } last;
    CHECK_LINE(tuttiCommInitAll(nullptr, 1, nullptr) == tuttiInvalidArgument);  // leaves a text behind
    CHECK_LINE(std::string(tuttiGetLastError(nullptr)).size() > 20);
    CHECK_LINE(tuttiCommInitAll(&comm, 1, nullptr) == tuttiSuccess);
    return 0;
  })));
}

TEST(Exit, InTheMiddleOfACall) {
  EXPECT_TRUE(endedWell(inChild([](int) {
    static tuttiComm_t comms[2];
    CHECK_LINE(tuttiCommInitAll(comms, 2, nullptr) == tuttiSuccess);
    static std::atomic<pid_t> inside{0};
    std::thread([] {
      inside = gettid();
      tuttiBarrier(comms[0], nullptr);
    }).detach();
    CHECK_LINE(comesTrue([] { return isAsleep(inside); }));
    return 0;
  })));
}

TEST(Fork, ChildIsRefusedAndParentGoesOn) {
  const Communicators comms(2);
  ASSERT_TRUE(works(comms));
  const End end = inChild([&](int) {
    int number = 0;
    int value = 1;
    CHECK_LINE(tuttiCommCount(comms[0], &number) == tuttiInvalidArgument);
    CHECK_LINE(std::string(tuttiGetLastError(nullptr)).find("fork") != std::string::npos);
    CHECK_LINE(tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiSum, comms[0], nullptr) ==
               tuttiInvalidArgument);
    CHECK_LINE(tuttiCommDestroy(comms[1]) == tuttiInvalidArgument);
    CHECK_LINE(tuttiCommAbort(comms[1]) == tuttiInvalidArgument);
    // A child has the same right to communicators of its own, in slots of their own.
    const Communicators own(3);
    CHECK_LINE(own.result() == tuttiSuccess);
    CHECK_LINE(works(own));
    for (int rank = 0; rank < 3; ++rank) CHECK_LINE(own[rank] != comms[0] && own[rank] != comms[1]);
    CHECK_LINE(tuttiCommCount(comms[0], &number) == tuttiInvalidArgument);
    return 0;
  });
  EXPECT_TRUE(endedWell(end)) << "line " << WEXITSTATUS(end.status) - 1;
  EXPECT_TRUE(works(comms));
}

TEST(Fork, InsideAnOpenGroup) {
  const Communicators comms(2);
  int values[2] = {3, 4};
  tuttiGroupStart();
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_EQ(tuttiAllReduce(&values[rank], &values[rank], 1, tuttiInt32, tuttiSum, comms[rank], nullptr),
              tuttiSuccess);
  const End end = inChild([&](int) {
    CHECK_LINE(tuttiGroupEnd() == tuttiInvalidArgument);
    CHECK_LINE(values[0] == 3 && values[1] == 4);
    CHECK_LINE(tuttiCommDestroy(comms[0]) == tuttiInvalidArgument);
    return 0;
  });
  EXPECT_TRUE(endedWell(end)) << "line " << WEXITSTATUS(end.status) - 1;
  EXPECT_EQ(tuttiGroupEnd(), tuttiSuccess);
  EXPECT_EQ(values[0], 7);
  EXPECT_EQ(values[1], 7);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// No fork while another thread holds a lock of the library leaves it locked in the child.
TEST(Fork, WhileOtherThreadsMakeCommunicators) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (!stop) {
        const Communicators comms(2);
        void* memory = nullptr;
        tuttiMemAlloc(&memory, 4096, TUTTI_DEVICE_HOST);
        tuttiMemFree(memory);
      }
    });
  for (int round = 0; round < 30; ++round) {
    const End end = inChild([&](int) {
      const Communicators own(2);
      void* memory = nullptr;
      _exit(works(own) && tuttiMemAlloc(&memory, 100, TUTTI_DEVICE_HOST) == tuttiSuccess ? 0 : 1);
      return 0;
    });
    EXPECT_TRUE(endedWell(end));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// The links of a large call do not fit any more: an error on every rank, and nothing hangs. Every amount of
// room is tried, so that each allocation on the way fails once.
class NoMemory : public testing::TestWithParam<bool> {};

TEST_P(NoMemory, IsAnErrorOnEveryRank) {
  const bool group = GetParam();
  bool failed = false;
  for (std::size_t room = 0; room <= 1400; room += 100) {
    const End end = inChild([group, room](int output) {
      constexpr int kRanks = 3;
      constexpr std::size_t kCount = 100'000;
      const Communicators comms(kRanks);
      CHECK_LINE(works(comms));
      std::vector<std::vector<float>> buffers(kRanks, std::vector<float>(kCount));
      std::vector<tuttiResult_t> results(kRanks), later(kRanks);
      const auto call = [&](int rank) {
        float* data = buffers[static_cast<std::size_t>(rank)].data();
        return tuttiAllReduce(data, data, kCount, tuttiFloat32, tuttiSum, comms[rank], nullptr);
      };
      if (group) {
        leaveRoomFor(room << 10);
        tuttiGroupStart();
        for (int rank = 0; rank < kRanks; ++rank) call(rank);
        results.assign(kRanks, tuttiGroupEnd());
      } else {
        // The threads are there before memory is taken away.
        std::atomic<int> ready{0};
        std::atomic<bool> go{false};
        std::vector<std::thread> threads;
        for (int rank = 0; rank < kRanks; ++rank)
          threads.emplace_back([&, rank] {
            ++ready;
            while (!go) std::this_thread::yield();
            results[static_cast<std::size_t>(rank)] = call(rank);
          });
        while (ready != kRanks) std::this_thread::yield();
        leaveRoomFor(room << 10);
        go = true;
        for (std::thread& thread : threads) thread.join();
      }
      leaveAllRoom();
      for (int rank = 0; rank < kRanks; ++rank) {
        tuttiResult_t async = tuttiSuccess;
        tuttiCommGetAsyncError(comms[rank], &async);
        dprintf(output, "%d/%d ", results[static_cast<std::size_t>(rank)], async);
        CHECK_LINE(results[static_cast<std::size_t>(rank)] == results[0]);
        if (results[0] == tuttiSuccess) continue;
        CHECK_LINE(results[0] == tuttiSystemError);
        CHECK_LINE(group || async == tuttiSystemError);
        if (async == tuttiSystemError) {
          CHECK_LINE(std::string(tuttiGetLastError(comms[rank])).find("memory") != std::string::npos);
          later[static_cast<std::size_t>(rank)] = tuttiBarrier(comms[rank], nullptr);
          CHECK_LINE(later[static_cast<std::size_t>(rank)] == tuttiBroken ||
                     (group && later[static_cast<std::size_t>(rank)] == tuttiSystemError));
        }
      }
      return 0;
    });
    EXPECT_TRUE(endedWell(end)) << room << " KiB: line " << WEXITSTATUS(end.status) - 1 << ", status "
                                << end.status << ", results " << end.text;
    failed |= end.text.find(std::to_string(tuttiSystemError) + "/") != std::string::npos;
  }
  EXPECT_TRUE(failed) << "memory never ran out";
}

INSTANTIATE_TEST_SUITE_P(Drivers, NoMemory, testing::Bool(),
                         [](const auto& info) { return info.param ? "group" : "threads"; });

// Also the first group of a thread, for which nothing has been set up yet.
TEST(NoMemoryForAGroup, IsAnError) {
  const End end = inChild([](int) {
    const Communicators comms(2);
    int line = 0;
    std::thread([&] {
      line = [&] {
        tuttiResult_t start = tuttiSuccess, call = tuttiSuccess, end = tuttiSuccess;
        {
          const Hoard hoard;
          start = tuttiGroupStart();
        }
        CHECK_LINE(start == tuttiSystemError);
        CHECK_LINE(std::string(tuttiGetLastError(nullptr)) == "tuttiGroupStart: out of memory");
        CHECK_LINE(tuttiGroupEnd() == tuttiInvalidUsage);  // none was opened

        CHECK_LINE(tuttiGroupStart() == tuttiSuccess);
        {
          const Hoard hoard;
          call = tuttiBarrier(comms[0], nullptr);
          end = tuttiGroupEnd();
        }
        CHECK_LINE(call == tuttiSystemError && end == tuttiSystemError);
        CHECK_LINE(works(comms));
        return 0;
      }();
    }).join();
    return line;
  });
  EXPECT_TRUE(endedWell(end)) << "line " << WEXITSTATUS(end.status) - 1 << ", status " << end.status;
}

TEST(NoMemoryAtInit, MakesAllOrNone) {
  for (std::size_t room = 0; room <= 1200; room += 100) {
    const End end = inChild([room](int) {
      tuttiComm_t comms[64];
      for (tuttiComm_t& comm : comms) comm = reinterpret_cast<tuttiComm_t>(0x5a);
      leaveRoomFor(room << 10);
      const tuttiResult_t result = tuttiCommInitAll(comms, 64, nullptr);
      leaveAllRoom();
      CHECK_LINE(result == tuttiSuccess || result == tuttiSystemError);
      if (result == tuttiSystemError) {
        for (tuttiComm_t comm : comms) CHECK_LINE(comm == reinterpret_cast<tuttiComm_t>(0x5a));
      }
      const Communicators again(4);
      CHECK_LINE(works(again));
      return 0;
    });
    EXPECT_TRUE(endedWell(end)) << room << " KiB: line " << WEXITSTATUS(end.status) - 1;
  }
}
#endif

}  // namespace
}  // namespace tutti
