// Who waits long sleeps, and is awake as soon as there is something for it; who does nothing uses no time.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/processes.h"
#include "tests/support/ranks.h"

namespace tutti {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int kRanks = 3;

// What all threads of this process have done.
struct Activity {
  double seconds = 0;  // of a core
  long sleeps = 0;     // how often one of them fell asleep

  Activity operator-(const Activity& earlier) const {
    return {seconds - earlier.seconds, sleeps - earlier.sleeps};
  }
  std::string text() const {
    return std::to_string(seconds) + " s of a core in " + std::to_string(sleeps) + " goes";
  }
};

Activity activity() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_nvcsw};
}

Activity inASecond() {
  const Activity before = activity();
  std::this_thread::sleep_for(1s);
  return activity() - before;
}

// Compared with the process before it uses the library: sanitizers have threads, too. The first seconds may have
// something left to do.
std::string idle(const Activity& before) {
  Activity least{1, 0};
  for (int second = 0; second < 10; ++second) {
    const Activity now = inASecond();
    if (now.sleeps <= 3 * before.sleeps / 2 + 3 && now.seconds < before.seconds + 0.01) return "";
    if (now.seconds < least.seconds) least = now;
  }
  return "a second of idling takes " + least.text() + ", and without the library " + before.text();
}

TEST(Idling, TakesNoTime) {
  Activity before;
  EXPECT_EQ(runProcesses(
                kRanks,
                [&](int rank, const tuttiUniqueId& id) {
                  return onCommunicator(kRanks, rank, id, configOf(), [&](tuttiComm_t comm) -> std::string {
                    tuttiBarrier(comm, nullptr);
                    const std::string wrong = idle(before);
                    tuttiBarrier(comm, nullptr);
                    return wrong;
                  });
                },
                [&](int) {
                  std::thread([] {}).join();  // with which a sanitizer's come
                  before = inASecond();
                  return "";
                }),
            "");
}

// Ten times a second it looks round.
TEST(Waiting, ForAStoppedPeerTakesNextToNoTime) {
  Processes processes(2, [](int rank, const tuttiUniqueId& id) -> std::string {
    return onCommunicator(2, rank, id, configOf(), [&](tuttiComm_t comm) -> std::string {
      tuttiBarrier(comm, nullptr);
      Processes::tell();
      if (rank == 1) raise(SIGSTOP);
      const Activity before = activity();
      if (tuttiBarrier(comm, nullptr) != tuttiSuccess) return tuttiGetLastError(comm);
      const Activity waiting = activity() - before;
      const bool isLittle = waiting.seconds < 0.1 && waiting.sleeps < 400;
      return rank == 1 || isLittle ? "" : "2 s of waiting took " + waiting.text();
    });
  });
  ASSERT_TRUE(processes.hear() && processes.hear());
  std::this_thread::sleep_for(2s);
  processes.signal(1, SIGCONT);
  for (const ProcessEnd& end : processes.waitForAll()) EXPECT_EQ(end.text, "");
}

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The last rank comes so late to `call` that the others sleep, several times. Answers what is wrong if one of them, in
// the median, is done much later after the last has come than when all come at once, which also tells how busy the
// machine is. A sleeper that nobody wakes looks round after 100 ms, 50 ms after the late rank has come.
std::string lateRank(tuttiComm_t comm, int rank, const std::function<tuttiResult_t()>& call) {
  constexpr int kRounds = 9;
  constexpr double kSoonMs = 35;
  std::vector<double> together, late;
  for (int round = 0; round < 2 * kRounds; ++round) {
    const bool oneIsLate = round >= kRounds;
    if (oneIsLate && rank == kRanks - 1) std::this_thread::sleep_for(30ms);
    const std::int64_t came = now();
    if (call() != tuttiSuccess) return tuttiGetLastError(comm);
    const std::int64_t done = now();
    std::int64_t lastCame = 0;
    if (tuttiAllReduce(&came, &lastCame, 1, tuttiInt64, tuttiMax, comm, nullptr) != tuttiSuccess)
      return tuttiGetLastError(comm);
    (oneIsLate ? late : together).push_back(static_cast<double>(done - lastCame) * 1e-6);
  }
  return median(late) < 2 * median(together) + kSoonMs
             ? ""
             : "rank " + std::to_string(rank) + " was done " + std::to_string(median(late)) +
                   " ms after a late rank had come, and " + std::to_string(median(together)) +
                   " ms after all had come at once";
}

using Case = std::string (*)(tuttiComm_t comm, int rank);

std::string flaggedLines(tuttiComm_t comm, int rank) {
  std::int32_t value = 1;
  return lateRank(comm, rank,
                  [&] { return tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiMax, comm, nullptr); });
}

// The root has filled all slots, and sleeps until one is given back.
std::string credits(tuttiComm_t comm, int rank) {
  std::vector<float> values(std::size_t{1} << 20);
  return lateRank(comm, rank, [&] {
    return tuttiBroadcast(values.data(), values.data(), values.size(), tuttiFloat32, 0, comm, nullptr);
  });
}

// One thread that waits for calls on two communicators.
std::string groupOnTwo(tuttiComm_t comm, int rank) {
  std::int32_t value = 1;
  tuttiUniqueId id{};
  if (rank == 0) tuttiGetUniqueId(&id);
  tuttiBroadcast(&id, &id, sizeof(id), tuttiUint8, 0, comm, nullptr);
  tuttiComm_t second = nullptr;
  if (tuttiCommInitRank(&second, kRanks, id, rank) != tuttiSuccess) return tuttiGetLastError(nullptr);
  const std::string wrong = lateRank(comm, rank, [&] {
    tuttiGroupStart();
    tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiMax, second, nullptr);
    tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiMax, comm, nullptr);
    return tuttiGroupEnd();
  });
  tuttiCommDestroy(second);
  return wrong;
}

class ALateRank : public testing::TestWithParam<Case> {};

TEST_P(ALateRank, WakesProcesses) {
  EXPECT_EQ(runProcesses(kRanks,
                         [](int rank, const tuttiUniqueId& id) {
                           return onCommunicator(kRanks, rank, id, configOf(),
                                                 [&](tuttiComm_t comm) { return GetParam()(comm, rank); });
                         }),
            "");
}

TEST_P(ALateRank, WakesThreads) {
  const Communicators comms(kRanks);
  onRanks(kRanks, [&](int rank) { EXPECT_EQ(GetParam()(comms[rank], rank), ""); });
}

INSTANTIATE_TEST_SUITE_P(
    In, ALateRank, testing::Values(flaggedLines, credits, groupOnTwo), [](const auto& info) {
      return std::string(info.param == flaggedLines ? "lines" : info.param == credits ? "slots" : "group");
    });

}  // namespace
}  // namespace tutti
