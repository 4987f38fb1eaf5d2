// The rendezvous of ranks that are threads: what is gathered, and what everybody is told when it fails.
#include "runtime/rendezvous/rendezvous.h"

#include <sys/time.h>

#include <atomic>

#include "runtime/rendezvous/frames.h"
#include "tests/runtime/rendezvous/gathering.h"

namespace tutti {
namespace {

class Numbers : public Gathering, public testing::WithParamInterface<int> {};

TEST_P(Numbers, AllGetAllInRankOrder) {
  startHost();
  const int nranks = GetParam();
  for (const Status& status : gatherInThreads(id_, ranksBelow(nranks), nranks))
    EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_TRUE(comesTrue([this] { return host_->isOver(); })) << "the thread ends with the rendezvous";
  EXPECT_EQ(openDescriptors(), descriptors_) << "and so does what it took";
}

INSTANTIATE_TEST_SUITE_P(Ranks, Numbers, testing::Values(1, 2, 3, 8, 32));

using Rendezvous = Gathering;

// Statuses of all ranks that are there, in a rendezvous that fails.
void allSay(const std::vector<Status>& answers, Code code, const std::string& text) {
  for (const Status& status : answers) {
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_TRUE(has(status, text)) << status.message();
  }
}

TEST_F(Rendezvous, MissingRanksAreNamedAtTheDeadline) {
  startHost();
  const auto began = Clock::now();
  allSay(gatherInThreads(id_, {0, 1, 2, 4, 6, 7}, 8, 400ms), Code::timeout,
         "ranks 3, 5 of 8 have not come within 400 ms");
  const auto took = Clock::now() - began;
  EXPECT_GE(took, 390ms);
  EXPECT_LT(took, kSoon);
}

TEST_F(Rendezvous, TheFirstDeadlineCountsForAll) {
  startHost();
  std::vector<Status> answers(2);
  std::thread other([&] { answers[0] = gather(id_, 0, 3, kLong); });
  std::this_thread::sleep_for(100ms);  // the one with the longer deadline comes first
  answers[1] = gather(id_, 1, 3, 300ms);
  other.join();
  allSay(answers, Code::timeout, "rank 2 of 3 has not come within 300 ms");
}

TEST_F(Rendezvous, TheHostsDeadlineRunsFromTheFirstArrival) {
  startHost(300ms);
  std::this_thread::sleep_for(500ms);
  const auto began = Clock::now();
  allSay(gatherInThreads(id_, {0}, 2), Code::timeout, "rank 1 of 2 has not come within 300 ms");
  EXPECT_GE(Clock::now() - began, 290ms);
}

TEST_F(Rendezvous, LateRanksGetTheSameCause) {
  startHost();
  allSay(gatherInThreads(id_, {0, 2}, 3, 200ms), Code::timeout, "rank 1 of 3 has not come within 200 ms");
  EXPECT_FALSE(host_->isOver());
  const auto began = Clock::now();
  allSay(gatherInThreads(id_, {1}, 3), Code::timeout, "rank 1 of 3 has not come within 200 ms");
  EXPECT_TRUE(comesTrue([this] { return host_->isOver(); })) << "nobody is left who could come";
  EXPECT_LT(Clock::now() - began, kSoon);
}

TEST_F(Rendezvous, AFailedOneEndsByItself) {
  startHost(200ms);
  allSay(gatherInThreads(id_, {0}, 2), Code::timeout, "rank 1 of 2");
  EXPECT_TRUE(comesTrue([this] { return host_->isOver(); }));
  EXPECT_EQ(openDescriptors(), descriptors_);
}

TEST_F(Rendezvous, DifferentNumbersOfRanksAreNamed) {
  startHost();
  std::vector<Status> answers(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back(
        [&, rank] { answers[static_cast<std::size_t>(rank)] = gather(id_, rank, rank == 1 ? 5 : 4); });
  }
  for (std::thread& thread : threads) thread.join();
  allSay(answers, Code::invalidArgument, "different numbers of ranks: rank ");
  allSay(answers, Code::invalidArgument, "rank 1 (pid " + std::to_string(getpid()) + "): 5");
  allSay(answers, Code::invalidArgument, "): 4");
}

TEST_F(Rendezvous, ARankTakenTwice) {
  startHost();
  allSay(gatherInThreads(id_, {0, 2, 2}, 4), Code::invalidArgument, "rank 2 was taken twice");
}

TEST_F(Rendezvous, ARankThatDoesNotExist) {
  startHost();
  allSay(gatherInThreads(id_, {0, 4}, 4), Code::invalidArgument, "rank 4 (pid ");
}

TEST_F(Rendezvous, ARanksOwnErrorReachesAll) {
  startHost();
  std::vector<Status> answers(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      answers[static_cast<std::size_t>(rank)] = gather(id_, rank, 3, kLong, [rank](int from) {
        return rank == 2 && from == 1 ? Status(Code::mismatch, "no memory: 5 bytes") : Status();
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answers[2].message(), "no memory: 5 bytes");
  answers.pop_back();
  allSay(answers, Code::mismatch, "rank 2 (pid " + std::to_string(getpid()) + "): no memory: 5 bytes");
}

// Also an error in the very last contribution, which has no descriptors, when others have taken all.
TEST_F(Rendezvous, AnErrorAtTheEndReachesAll) {
  startHost();
  ASSERT_EQ(descriptorsOf(4), 0u);
  std::vector<Status> answers(5);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 5; ++rank) {
    threads.emplace_back([&, rank] {
      answers[static_cast<std::size_t>(rank)] = gather(id_, rank, 5, kLong, [rank](int from) {
        if (rank != 0 || from != 4) return Status();
        std::this_thread::sleep_for(100ms);
        return Status(Code::systemError, "at the end");
      });
    });
  }
  for (std::thread& thread : threads) thread.join();
  allSay(answers, Code::systemError, "at the end");
}

TEST_F(Rendezvous, ARankThatDeclinesTellsAll) {
  startHost();
  std::thread decliner([&] { declineRendezvous(id_, 1, 3, Status(Code::systemError, "no arena"), kLong); });
  const auto began = Clock::now();
  allSay(gatherInThreads(id_, {0}, 3), Code::systemError,
         "rank 1 (pid " + std::to_string(getpid()) + "): no arena");
  EXPECT_LT(Clock::now() - began, kSoon);
  decliner.join();
}

TEST_F(Rendezvous, TooLargeAContributionIsRefusedForAll) {
  startHost();
  Status large;
  std::thread other([&] {
    large = joinRendezvous(
        id_, 1, 2, {std::string(kMostContributionBytes + 1, 'x'), {}},
        [](int, std::string, std::vector<FileDescriptor>) { return Status(); }, kLong);
  });
  allSay(gatherInThreads(id_, {0}, 2), Code::internalError, "too large");
  other.join();
  EXPECT_EQ(large.code(), Code::internalError);
}

TEST_F(Rendezvous, AnIdServesOneCommunicator) {
  startHost();
  for (const Status& status : gatherInThreads(id_, {0, 1}, 2)) EXPECT_TRUE(status.isOk());
  ASSERT_TRUE(comesTrue([this] { return host_->isOver(); }));
  EXPECT_FALSE(socketExists(id_.socketName()));
  const auto began = Clock::now();
  allSay(gatherInThreads(id_, {0}, 2), Code::remoteError, "nobody listens");
  EXPECT_LT(Clock::now() - began, kSoon);
}

TEST_F(Rendezvous, WithoutAHost) {
  allSay(gatherInThreads(id_, {0}, 2), Code::remoteError, "nobody listens");
}

TEST_F(Rendezvous, TheHostsEndIsToldAtOnce) {
  startHost();
  std::vector<Status> answers;
  const auto began = Clock::now();
  std::thread ranks([&] { answers = gatherInThreads(id_, {0, 1}, 3); });
  std::this_thread::sleep_for(200ms);
  host_.reset();
  ranks.join();
  EXPECT_LT(Clock::now() - began, kSoon);
  allSay(answers, Code::remoteError,
         "(pid " + std::to_string(getpid()) + ") has ended, or closed the rendezvous");
}

TEST_F(Rendezvous, AHostThatNobodyVisitsEnds) {
  startHost(1ms);
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(host_->isOver());
}

TEST_F(Rendezvous, TheHostMayGoAsSoonAsOneRankIsDone) {
  int quick = 0;
  for (int turn = 0; turn < 20; ++turn) {
    const UniqueId id = UniqueId::make().value();
    auto host = RendezvousHost::start(id, kLong);
    ASSERT_TRUE(host.isOk());
    std::vector<Status> answers(4);
    std::vector<std::thread> threads;
    for (int rank = 1; rank < 4; ++rank)
      threads.emplace_back([&, rank] { answers[static_cast<std::size_t>(rank)] = gather(id, rank, 4); });
    answers[0] = gather(id, 0, 4);
    const auto began = Clock::now();
    host.value().reset();
    quick += Clock::now() - began < 50ms;
    for (std::thread& thread : threads) thread.join();
    for (const Status& status : answers) EXPECT_TRUE(status.isOk()) << status.message();
  }
  EXPECT_GT(quick, 10) << "going takes no time";
}

TEST_F(Rendezvous, ManyAtOnceOfOneProcess) {
  std::vector<std::thread> jobs;
  std::atomic<int> good{0};
  for (int job = 0; job < 4; ++job) {
    jobs.emplace_back([&good] {
      const UniqueId id = UniqueId::make().value();
      const auto host = RendezvousHost::start(id, kLong);
      if (!host.isOk()) return;
      for (const Status& status : gatherInThreads(id, ranksBelow(4), 4)) good += status.isOk();
    });
  }
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(good, 16);
}

TEST_F(Rendezvous, OneIdOneHost) {
  startHost();
  const auto second = RendezvousHost::start(id_, kLong);
  ASSERT_FALSE(second.isOk());
  EXPECT_EQ(second.status().code(), Code::systemError);
}

// The blocked signals of the thread of that name, in hexadecimal digits; empty when there is none.
std::string maskOf(const std::string& thread) {
  std::string mask;
  DIR* const tasks = opendir("/proc/self/task");
  while (const dirent* task = readdir(tasks)) {
    const std::string folder = std::string("/proc/self/task/") + task->d_name;
    std::ifstream name(folder + "/comm"), status(folder + "/status");
    std::string line;
    if (!std::getline(name, line) || line != thread) continue;
    while (std::getline(status, line)) {
      if (line.find("SigBlk:\t") == 0) mask = line.substr(8);
    }
  }
  closedir(tasks);
  return mask;
}

// The program's signals reach its own threads, and interrupt what they like.
TEST_F(Rendezvous, SignalsDoNotReachTheHostAndInterruptNothing) {
  static std::atomic<int> handled{0};
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ++handled; };  // and no SA_RESTART
  sigaction(SIGALRM, &action, &before);
  startHost();
  std::string blocked;  // the host's thread's mask
  EXPECT_TRUE(comesTrue([&blocked] {
    blocked = maskOf("tutti-meet");
    return !blocked.empty();
  }));
  EXPECT_NE(std::stoull("0" + blocked, nullptr, 16) & 1u << (SIGALRM - 1), 0u) << blocked;
  const itimerval often{{0, 500}, {0, 500}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const Status alone = gather(id_, 0, 2, 300ms);
  setitimer(ITIMER_REAL, &never, nullptr);
  EXPECT_TRUE(has(alone, "rank 1 of 2 has not come")) << alone.message();
  EXPECT_GT(handled, 10);
  sigaction(SIGALRM, &before, nullptr);
}

}  // namespace
}  // namespace tutti
