// What is said unasked: one line for each slower way, once in a process, with what to do; and nothing in calls. Each
// case in a process of its own, whose standard error is read.
#include "api/notices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "api/process.h"
#include "tests/support/communicators.h"
#include "tests/transport/shared/limits.h"
#include "topology/discover.h"

namespace tutti {
namespace {

struct Said {
  int status = 0;
  std::string text;

  bool endedWell() const { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }
  int lines() const { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }
  bool has(const std::string& part) const { return text.find(part) != std::string::npos; }
};

// What `body`, which answers whether all is well, writes to standard error in a child.
Said inChild(const std::function<bool()>& body) {
  int ends[2];
  if (pipe(ends) != 0) return {-1, "pipe"};
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    close(ends[0]);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    _exit(body() ? 0 : 1);
  }
  close(ends[1]);
  Said said;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    said.text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, &said.status, 0);
  return said;
}

int tooManyRanks() {
  return static_cast<int>(discover().allowed.size()) + 1;
}

bool isMade(int nranks, const tuttiConfig_t& config = configOf()) {
  return Communicators(nranks, config).result() == tuttiSuccess;
}

TEST(Notices, ARankOnEachCoreIsNoneToMention) {
  const Said said = inChild([] { return isMade(1) && isMade(tooManyRanks() - 1); });
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.text, "");
}

TEST(Notices, MoreRanksThanCoresAreMentionedOnce) {
  const Said said = inChild([] { return isMade(tooManyRanks()) && isMade(tooManyRanks() + 1); });
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.lines(), 1) << said.text;
  EXPECT_EQ(said.text.find("tutti: warning: communicator #0: "), 0u) << said.text;
  const int cores = tooManyRanks() - 1;
  EXPECT_TRUE(said.has(fmt::format("{} ranks share {} cores", cores + 1, cores))) << said.text;
  EXPECT_TRUE(said.has(fmt::format("Start at most {} ranks", cores))) << said.text;
}

TEST(Notices, LevelOfTheEnvironment) {
  for (const char* quiet : {"none", "error"}) {
    const Said said =
        inChild([quiet] { return setenv("TUTTI_LOG", quiet, 1) == 0 && isMade(tooManyRanks()); });
    EXPECT_TRUE(said.endedWell());
    EXPECT_EQ(said.text, "") << quiet;
  }
  const Said said = inChild([] { return setenv("TUTTI_LOG", "info", 1) == 0 && isMade(1) && isMade(1); });
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.lines(), 3) << said.text;
  EXPECT_TRUE(said.has("tutti: info: communicator #0: nranks 1, 1 in this process")) << said.text;
  EXPECT_TRUE(said.has("tutti: info: communicator #1: ")) << said.text;
  EXPECT_TRUE(said.has(fmt::format("tutti: info: this machine: {}\n", discover().describe()))) << said.text;
}

// Whoever wanted nothing does not take the message away from others.
TEST(Notices, WhatWasNotSaidIsSaidLater) {
  const Said said = inChild([] {
    tuttiConfig_t quiet = configOf();
    quiet.logLevel = tuttiLogError;
    return isMade(tooManyRanks(), quiet) && isMade(tooManyRanks());
  });
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.lines(), 1) << said.text;
}

struct Heard {
  std::vector<tuttiLogLevel_t> levels;
  std::vector<std::string> texts;
};

TEST(Notices, GoToTheCallbackOfTheConfig) {
  const Said said = inChild([] {
    Heard heard;
    tuttiConfig_t config = configOf();
    config.logContext = &heard;
    config.logCallback = [](void* context, tuttiLogLevel_t level, const char* text) {
      static_cast<Heard*>(context)->levels.push_back(level);
      static_cast<Heard*>(context)->texts.emplace_back(text);
    };
    return isMade(tooManyRanks(), config) && heard.levels == std::vector{int{tuttiLogWarning}} &&
           heard.texts[0].find("communicator #0: ") == 0 && heard.texts[0].back() != '\n';
  });
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.text, "");
}

TEST(Notices, CallsSayNothing) {
  const Said said = inChild([] {
    setenv("TUTTI_LOG", "debug", 1);
    const Communicators comms(tooManyRanks()), one(1);
    static_cast<void>(!write(STDERR_FILENO, "|", 1));
    for (int call = 0; call < 3; ++call) {
      if (!works(comms) || tuttiBarrier(one[0], nullptr) != tuttiSuccess) return false;
    }
    static_cast<void>(!write(STDERR_FILENO, "|", 1));
    return true;
  });
  EXPECT_TRUE(said.endedWell());
  EXPECT_TRUE(said.has("info")) << said.text;
  EXPECT_TRUE(said.has("||")) << said.text;
}

TEST(Notices, AMachineThatCannotBeRead) {
  const Said said = inChild([] {
    setenv("HWLOC_SYNTHETIC", "pack:2 core:64 pu:2", 1);
    return isMade(1) && isMade(tooManyRanks());
  });
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.lines(), 1) << said.text;
  EXPECT_TRUE(said.has("tutti: warning: the machine could not be read")) << said.text;
}

TEST(Notices, ASystemWithoutProcessBarriers) {
  const Said said = inChild([] { return refuseSystemCall(SYS_membarrier, EPERM) && isMade(1) && isMade(1); });
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.lines(), 1) << said.text;
  EXPECT_TRUE(said.has("tutti: warning: the system refuses membarrier(2)")) << said.text;
}

// One rank, as a process.
bool join(const std::function<bool(tuttiComm_t)>& use) {
  tuttiUniqueId id;
  tuttiComm_t comm = nullptr;
  if (tuttiGetUniqueId(&id) != tuttiSuccess || tuttiCommInitRank(&comm, 1, id, 0) != tuttiSuccess)
    return false;
  return use(comm) && tuttiCommDestroy(comm) == tuttiSuccess;
}

TEST(Notices, MemoryThatCannotBeRegistered) {
  const Said said = inChild([] {
    return join([](tuttiComm_t comm) {
      static char memory[8192];
      void* handle = nullptr;
      return tuttiCommRegister(comm, memory, sizeof(memory), &handle) == tuttiNotSupported &&
             tuttiCommRegister(comm, memory, sizeof(memory), &handle) == tuttiNotSupported;
    });
  });
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.lines(), 1) << said.text;
  EXPECT_TRUE(said.has("Take memory of tuttiMemAlloc")) << said.text;
}

TEST(Notices, SmallPages) {
  const auto allocate = [](const char* level) {
    return inChild([level] {
      setenv("TUTTI_LOG", level, 1);
      void* memory[2] = {};
      return refuseSystemCall(SYS_madvise, EINVAL) &&
             tuttiMemAlloc(&memory[0], 4 << 20, TUTTI_DEVICE_HOST) == tuttiSuccess &&
             tuttiMemAlloc(&memory[1], 4 << 20, TUTTI_DEVICE_HOST) == tuttiSuccess;
    });
  };
  const Said said = allocate("info");
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.lines(), 1) << said.text;
  EXPECT_TRUE(said.has("tutti: info: memory of tuttiMemAlloc is in small pages")) << said.text;
  EXPECT_EQ(allocate("warning").text, "");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
bool limitAddressSpace(std::size_t room) {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + room;
  return setrlimit(RLIMIT_AS, &limit) == 0;
}

TEST(Notices, SharedMemoryThatIsSmall) {
  const Said said = inChild([] {
    const auto nothing = [](tuttiComm_t) { return true; };
    return limitAddressSpace(std::size_t{3} << 30) && join(nothing) && join(nothing);
  });
  EXPECT_TRUE(said.endedWell());
  EXPECT_EQ(said.lines(), 1) << said.text;
  EXPECT_TRUE(said.has("MiB in place of 65536")) << said.text;
  EXPECT_TRUE(said.has("ulimit -v")) << said.text;
}

// Twice in a process whose address space has `room` bytes left.
Said allocating(std::size_t bytes, std::size_t room) {
  return inChild([bytes, room] {
    void* memory[2] = {};
    return limitAddressSpace(room) && tuttiMemAlloc(&memory[0], bytes, TUTTI_DEVICE_HOST) == tuttiSuccess &&
           tuttiMemAlloc(&memory[1], bytes, TUTTI_DEVICE_HOST) == tuttiSuccess;
  });
}

TEST(Notices, MemoryThatOnlyThisProcessSees) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const Said none = allocating(4096, 100 * kMiB);  // no room for an arena
  const Said full = allocating(80 * kMiB, 600 * kMiB);
  for (const Said& said : {none, full}) {
    EXPECT_TRUE(said.endedWell());
    EXPECT_EQ(said.lines(), 1) << said.text;
    EXPECT_TRUE(said.has("tutti: warning: tuttiMemAlloc gave memory that other processes do not see"))
        << said.text;
  }
  EXPECT_TRUE(none.has("bytes of address space are not free")) << none.text;
  EXPECT_TRUE(full.has("bytes are not free in this process's")) << full.text;
}
#endif

// Asking takes milliseconds.
TEST(TheMachine, IsLookedAtOnceAlsoByForkedChildren) {
  const Said said = inChild([] {
    const Machine& machine = Process::get().machine();
    const std::string seen = machine.describe();
    setenv("HWLOC_SYNTHETIC", "pack:2 core:64 pu:2", 1);
    return &Process::get().machine() == &machine &&
           inChild([&seen] { return Process::get().machine().describe() == seen; }).endedWell();
  });
  EXPECT_TRUE(said.endedWell());
}

}  // namespace
}  // namespace tutti
