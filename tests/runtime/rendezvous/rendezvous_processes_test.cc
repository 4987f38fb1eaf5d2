// Ranks as processes: they are killed, stopped, forked and short of descriptors, and the others learn it.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <map>
#include <random>

#include "runtime/rendezvous/local_socket.h"
#include "runtime/rendezvous/rendezvous.h"
#include "tests/runtime/rendezvous/gathering.h"

namespace tutti {
namespace {

std::vector<Child> ranksAsChildren(const UniqueId& id, const std::vector<int>& ranks, int nranks) {
  std::vector<Child> children;
  for (const int rank : ranks)
    children.emplace_back([&id, rank, nranks] { return gather(id, rank, nranks); });
  return children;
}

// A child that holds the meeting place until it is killed.
Child hostAsChild(const UniqueId& id) {
  Child child([&id] {
    const auto host = RendezvousHost::start(id, kLong);
    for (;;) pause();
    return Status();
  });
  EXPECT_TRUE(comesTrue([&id] { return socketListens(id.socketName()); }));
  return child;
}

class Processes : public Gathering, public testing::WithParamInterface<int> {};

TEST_P(Processes, AllGetAllInRankOrder) {
  startHost();
  std::vector<Child> children = ranksAsChildren(id_, ranksBelow(GetParam()), GetParam());
  for (Child& child : children) {
    const Status status = child.answer();
    EXPECT_TRUE(status.isOk()) << status.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Processes, testing::Values(1, 2, 3, 8, 32));

using ProcessRendezvous = Gathering;

void allSay(std::vector<Child>& children, Code code, const std::string& text) {
  const auto began = Clock::now();
  for (Child& child : children) {
    const Status status = child.answer();
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_TRUE(has(status, text)) << status.message();
  }
  EXPECT_LT(Clock::now() - began, kSoon);
}

void limitFiles(rlim_t most) {
  const rlimit limit{most, most};
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Of 8 ranks each gives 20 descriptors: with those of two others none would have room in 64.
std::size_t twenty(int) {
  return 20;
}

void gatherWithFewFiles(const UniqueId& id, uid_t user) {
  const auto restrict = [user] {
    limitFiles(64);
    if (user != getuid() && setresuid(user, user, user) != 0) return Status(Code::systemError, "setresuid");
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // which a change of user takes away
    return Status();
  };
  Child host([&]() -> Status {
    TUTTI_TRY(restrict());
    const auto started = RendezvousHost::start(id, kLong);
    TUTTI_TRY(statusOf(started));
    comesTrue([&] { return started.value()->isOver(); }, kLong);
    return Status();
  });
  ASSERT_TRUE(comesTrue([&id] { return socketListens(id.socketName()); }));
  std::vector<Child> children;
  for (int rank = 0; rank < 8; ++rank) {
    children.emplace_back([&, rank]() -> Status {
      TUTTI_TRY(restrict());
      // Nobody runs ahead of a slow rank, and the host keeps no descriptors for it.
      const auto slowly = [rank](int from) {
        if (rank == 0 && from == 0) std::this_thread::sleep_for(300ms);
        return Status();
      };
      return gather(id, rank, 8, kLong, slowly, twenty);
    });
  }
  for (Child& child : children) {
    const Status status = child.answer();
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  EXPECT_TRUE(host.answer().isOk());
}

TEST_F(ProcessRendezvous, SixtyFourOpenFiles) {
  gatherWithFewFiles(id_, getuid());
}

// The kernel also counts how many descriptors a user without privileges has under way.
TEST_F(ProcessRendezvous, SixtyFourOpenFilesOfAnotherUser) {
  if (getuid() != 0) GTEST_SKIP() << "not root, so the case before this one is this one";
  gatherWithFewFiles(id_, 65534);
}

TEST_F(ProcessRendezvous, NoRoomForDescriptorsIsSaid) {
  startHost();
  std::vector<Child> children;
  for (int rank = 0; rank < 3; ++rank) {
    children.emplace_back([&, rank] {
      if (rank == 1) {
        limitFiles(static_cast<rlim_t>(openDescriptors()) + 8);
        // Asked for by name, so that this rank is the one without room.
        return gather(id_, rank, 3, kLong, nullptr, [](int from) { return from == 1 ? 0u : 20u; });
      }
      return gather(id_, rank, 3, kLong, nullptr, [](int from) { return from == 1 ? 0u : 20u; });
    });
  }
  allSay(children, Code::systemError, "too many open files");
}

// Until the end of the process none is free.
void takeAllDescriptors() {
  limitFiles(64);
  while (dup(0) >= 0) continue;
}

// Not even one for the connection over which it has to tell.
TEST_F(ProcessRendezvous, ARankWithoutDescriptorsTellsAll) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "thread sanitizer ends a forked child that makes a thread";
#endif
  startHost();
  std::vector<Child> children;
  for (int rank = 0; rank < 3; ++rank) {
    children.emplace_back([&, rank] {
      if (rank == 1) takeAllDescriptors();
      return gather(id_, rank, 3, kLong, nullptr, [](int) { return 0u; });
    });
  }
  allSay(children, Code::systemError, "socket failed: Too many open files. Close files");
}

TEST_F(ProcessRendezvous, AHostWithoutDescriptorsTellsAll) {
  SharedFlag isFull;
  Child host([&]() -> Status {
    const auto started = RendezvousHost::start(id_, kLong);
    TUTTI_TRY(statusOf(started));
    takeAllDescriptors();
    isFull.set();
    comesTrue([&] { return started.value()->isOver(); }, kLong);
    return Status();
  });
  ASSERT_TRUE(comesTrue([&] { return isFull.isSet(); }));
  std::vector<Child> children;
  for (int rank = 0; rank < 3; ++rank)
    children.emplace_back([&, rank] { return gather(id_, rank, 3, kLong, nullptr, [](int) { return 0u; }); });
  allSay(children, Code::systemError,
         "(pid " + std::to_string(host.pid()) + ") has no room for another rank: Too many open files");
}

// It says so when it is made, not to ranks that it cannot let in.
TEST_F(ProcessRendezvous, AHostThatCannotTellAnybodyIsNotMade) {
  Child child([&]() -> Status {
    // A sanitizer looks at types through a pipe, once.
    TUTTI_TRY(statusOf(RendezvousHost::start(UniqueId::make().value(), kLong)));
    takeAllDescriptors();
    for (const int last : {63, 62, 61}) close(last);
    for (int free = 3; free < RendezvousHost::kDescriptors; ++free) {  // with fewer there is no event loop
      const auto started = RendezvousHost::start(id_, kLong);
      if (started.isOk()) return Status(Code::internalError, "with " + std::to_string(free) + " descriptors");
      if (!has(started.status(), "(ulimit -n)")) return started.status();
      close(63 - free);
    }
    return statusOf(RendezvousHost::start(id_, kLong));
  });
  const Status status = child.answer();
  EXPECT_TRUE(status.isOk()) << status.message();
}

// One whose place was the spare one, which somebody else takes when it has gone.
TEST_F(ProcessRendezvous, AStrangerDoesNotTakeTheSparePlaceAway) {
  SharedFlag isFull, isFullAgain;
  Child host([&]() -> Status {
    const auto started = RendezvousHost::start(id_, kLong);
    TUTTI_TRY(statusOf(started));
    takeAllDescriptors();
    isFull.set();
    comesTrue([&] { return started.value()->strangers().garbage == 1; });
    std::this_thread::sleep_for(200ms);
    takeAllDescriptors();
    isFullAgain.set();
    comesTrue([&] { return started.value()->isOver(); }, kLong);
    return Status();
  });
  ASSERT_TRUE(comesTrue([&] { return isFull.isSet(); }));
  const std::string garbage(64, '\0');
  const Connected stranger = connectTo(id_.socketName());
  ASSERT_EQ(sendPart(stranger.socket.get(), garbage, {}).moved, Moved::some);
  ASSERT_TRUE(comesTrue([&] { return isFullAgain.isSet(); }));
  const Status status = gather(id_, 0, 2, 5s);
  EXPECT_TRUE(has(status, "has no room for another rank")) << status.message();
}

// For all threads of this process, from now on: what the filter says of the system call.
template <std::size_t size>
bool filterCalls(sock_filter (&filter)[size]) {
  const sock_fprog program = {size, filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}
bool refuseToWatch() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_epoll_ctl, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSPC),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return filterCalls(filter);
}
bool refuseToSeal() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args) + sizeof(__u64)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_ADD_SEALS, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return filterCalls(filter);
}

// The host cannot go on: who is there hears why, and who comes is not kept waiting.
TEST_F(ProcessRendezvous, AHostThatGivesUpTellsAll) {
  Child host([&]() -> Status {
    const auto started = RendezvousHost::start(id_, kLong);
    TUTTI_TRY(statusOf(started));
    std::this_thread::sleep_for(500ms);  // the first rank comes
    if (!refuseToWatch()) return Status(Code::systemError, "seccomp");
    for (;;) pause();
    return Status();
  });
  ASSERT_TRUE(comesTrue([this] { return socketListens(id_.socketName()); }));
  const auto began = Clock::now();
  std::vector<Child> first = ranksAsChildren(id_, {0}, 3);
  std::this_thread::sleep_for(1000ms);
  std::vector<Child> others = ranksAsChildren(id_, {1, 2}, 3);
  allSay(first, Code::systemError,
         "(pid " + std::to_string(host.pid()) + ") has given up the meeting: No space left on device");
  for (Child& other : others) {
    const Status status = other.answer();
    EXPECT_EQ(status.code(), Code::remoteError) << status.message();
  }
  EXPECT_TRUE(has(gather(id_, 1, 3), "nobody listens"));
  EXPECT_LT(Clock::now() - began, kSoon);
}

// The host cannot decide that they have met, which is as if a rank had decided against it.
TEST_F(ProcessRendezvous, AMeetingThatWasDecidedAgainstFailsAtOnce) {
  Child host([&]() -> Status {
    if (!refuseToSeal()) return Status(Code::systemError, "seccomp");
    const auto started = RendezvousHost::start(id_, kLong);
    TUTTI_TRY(statusOf(started));
    comesTrue([&] { return started.value()->isOver(); }, kLong);
    return Status();
  });
  ASSERT_TRUE(comesTrue([this] { return socketListens(id_.socketName()); }));
  std::vector<Child> children = ranksAsChildren(id_, ranksBelow(3), 3);
  allSay(children, Code::timeout, "all 3 ranks came, but one of them had given up");
}

// What a container calls 1 is another number outside.
TEST_F(ProcessRendezvous, ARankOfAnotherPidNamespaceIsNamedByBothPids) {
  if (getuid() != 0) GTEST_SKIP() << "not root, so there is no other pid namespace";
  startHost();
  Child outside([&] {
    if (unshare(CLONE_NEWPID) != 0) return Status(Code::systemError, "unshare");
    const pid_t inside = fork();
    if (inside == 0) {
      declineRendezvous(id_, 1, 2, Status(Code::systemError, "none"), kLong);
      _exit(0);
    }
    waitpid(inside, nullptr, 0);
    return Status();
  });
  const Status told = gather(id_, 0, 2);
  EXPECT_TRUE(has(told, ", 1 in its own pid namespace): none")) << told.message();
  EXPECT_TRUE(outside.answer().isOk());
}

TEST_F(ProcessRendezvous, AKilledHostIsNoticedAtOnce) {
  Child host = hostAsChild(id_);
  std::vector<Child> children = ranksAsChildren(id_, {0, 1}, 3);
  std::this_thread::sleep_for(300ms);
  host.signal(SIGKILL);
  allSay(children, Code::remoteError, "(pid " + std::to_string(host.pid()) + ") has ended");
}

// A child of the host process does not keep the connections open, once it has closed what it inherited.
TEST_F(ProcessRendezvous, AKilledHostIsNoticedWhenItsChildLives) {
  std::array<int, 2> ends{};  // the grandchild lives until the test closes its end
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  Child host([&] {
    const auto started = RendezvousHost::start(id_, kLong);
    std::this_thread::sleep_for(500ms);
    if (fork() == 0) {
      FileDescriptor::closeAllInChild();
      close(ends[1]);
      char byte = 0;
      _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    for (;;) pause();
    return Status();
  });
  ASSERT_TRUE(comesTrue([this] { return socketListens(id_.socketName()); }));
  std::vector<Child> children = ranksAsChildren(id_, {0, 1}, 3);
  std::this_thread::sleep_for(1000ms);
  host.signal(SIGKILL);
  allSay(children, Code::remoteError, "has ended");
  close(ends[0]);
  close(ends[1]);
}

// Also when it has closed nothing, and could reach the parent's event loop.
TEST_F(ProcessRendezvous, AForkedChildLeavesTheHostAlone) {
  startHost();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    host_.reset();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const Status& answer : gatherInThreads(id_, ranksBelow(3), 3, 5s))
    EXPECT_TRUE(answer.isOk()) << answer.message();
}

TEST_F(ProcessRendezvous, ARankKilledWhileOthersAreMissing) {
  startHost();
  std::vector<Child> children = ranksAsChildren(id_, {0, 1}, 4);
  Child victim([this] { return gather(id_, 2, 4); });
  std::this_thread::sleep_for(500ms);
  victim.signal(SIGKILL);
  allSay(children, Code::remoteError, "rank 2 (pid " + std::to_string(victim.pid()) + ") ended");
}

// At each contribution, its own included.
TEST_F(ProcessRendezvous, ARankKilledWhileItTakes) {
  for (int at = 0; at < 4; ++at) {
    const UniqueId id = UniqueId::make().value();
    const auto host = RendezvousHost::start(id, kLong);
    ASSERT_TRUE(host.isOk());
    Child victim([&] {
      return gather(id, 1, 4, kLong, [at](int from) {
        if (from == at) ::kill(getpid(), SIGKILL);
        return Status();
      });
    });
    std::vector<Child> children = ranksAsChildren(id, {0, 2, 3}, 4);
    allSay(children, Code::remoteError, "rank 1 (pid " + std::to_string(victim.pid()) + ") ended");
  }
}

TEST_F(ProcessRendezvous, ARankKilledAfterwardsHarmsNobody) {
  startHost();
  Child victim([&] {
    const Status status = gather(id_, 1, 3);
    ::kill(getpid(), SIGKILL);
    return status;
  });
  std::vector<Child> children = ranksAsChildren(id_, {0, 2}, 3);
  allSay(children, Code::ok, "");
}

// Whenever it happens, the survivors end, all with the same answer, which names the dead if it is a failure.
TEST_F(ProcessRendezvous, ARankKilledAtAnyMoment) {
  const unsigned seed = 20261130;
  std::mt19937 random(seed);
  std::map<Code, int> seen;
  for (int turn = 0; turn < 60; ++turn) {
    const UniqueId id = UniqueId::make().value();
    // The host comes last: a fork beside its busy thread can take along a lock of address sanitizer.
    const auto whenThere = [&id](int rank) {
      comesTrue([&id] { return socketListens(id.socketName()); });
      return gather(id, rank, 4, 300ms);
    };
    std::vector<Child> children;
    for (const int rank : {0, 2, 3}) children.emplace_back([&, rank] { return whenThere(rank); });
    const Child victim([&] { return whenThere(1); });
    const auto host = RendezvousHost::start(id, kLong);
    ASSERT_TRUE(host.isOk());
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
    victim.signal(SIGKILL);
    const Status first = children[0].answer();
    ++seen[first.code()];
    for (std::size_t i = 1; i < children.size(); ++i) {
      const Status other = children[i].answer();
      EXPECT_EQ(other.code(), first.code())
          << "turn " << turn << ", seed " << seed << ": " << first.message() << " | " << other.message();
      EXPECT_EQ(other.message(), first.message());
    }
    EXPECT_TRUE(first.isOk() || has(first, "rank 1 (pid " + std::to_string(victim.pid()) + ") ended") ||
                has(first, "rank 1 of 4 has not come"))
        << first.message();
  }
  EXPECT_GT(seen[Code::remoteError], 0) << "else the moments should be chosen anew";
}

TEST_F(ProcessRendezvous, AStoppedRankIsNamedAtTheDeadline) {
  startHost(1500ms);
  Child stopped([&] {
    return gather(id_, 1, 3, kLong, [](int from) {
      if (from == 0) ::kill(getpid(), SIGSTOP);
      return Status();
    });
  });
  std::vector<Child> children = ranksAsChildren(id_, {0, 2}, 3);
  // It alone is waited for.
  allSay(children, Code::timeout,
         "no answer from rank 1 (pid " + std::to_string(stopped.pid()) + "). A process");
}

TEST_F(ProcessRendezvous, AStoppedHostEndsAtTheDeadline) {
  Child host = hostAsChild(id_);
  host.signal(SIGSTOP);
  std::this_thread::sleep_for(50ms);
  const auto began = Clock::now();
  const Status status = gather(id_, 0, 2, 400ms);
  EXPECT_EQ(status.code(), Code::timeout);
  EXPECT_TRUE(has(status, "(pid " + std::to_string(host.pid()) + ") has not answered within 400 ms"))
      << status.message();
  EXPECT_GE(Clock::now() - began, 390ms);
  EXPECT_LT(Clock::now() - began, kSoon);
}

// It has an error to return, whatever its deadline is.
TEST_F(ProcessRendezvous, ADeclinerDoesNotWaitLongForAStoppedHost) {
  Child host = hostAsChild(id_);
  host.signal(SIGSTOP);
  const auto began = Clock::now();
  declineRendezvous(id_, 0, 2, Status(Code::systemError, "none"), kLong);
  EXPECT_LT(Clock::now() - began, kSoon);
}

TEST_F(ProcessRendezvous, OneSetOfDescriptorsForSeveralRanksOfAProcess) {
  startHost();
  const auto count = [](int rank) { return rank % 2 == 0 ? 2u : 0u; };
  std::vector<Child> children;
  for (int rank = 0; rank < 4; ++rank)
    children.emplace_back([&, rank] { return gather(id_, rank, 4, kLong, nullptr, count); });
  allSay(children, Code::ok, "");
}

}  // namespace
}  // namespace tutti
