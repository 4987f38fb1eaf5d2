// Forks of processes that share communicators: a child disturbs nobody, hides nobody's death, and may use the library
// anew.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/processes.h"

namespace tutti {
namespace {

// A child of a fork has nothing of its parent's: it may end, its parent may die first, it may use the library anew.
TEST(Fork, AChildDisturbsNobody) {
  EXPECT_EQ(
      runProcesses(2,
                   [](int rank, const tuttiUniqueId& id) {
                     return onCommunicator(2, rank, id, configOf(), [&](tuttiComm_t comm) -> std::string {
                       for (int i = 0; i < 5; ++i) {
                         const pid_t child = fork();
                         if (child == 0) {
                           tuttiComm_t own = nullptr;
                           int value = 1;
                           if (tuttiBarrier(comm, nullptr) != tuttiInvalidArgument) std::exit(1);
                           if (tuttiCommInitAll(&own, 1, nullptr) != tuttiSuccess) std::exit(2);
                           if (tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiSum, own, nullptr) !=
                               tuttiSuccess)
                             std::exit(3);
                           std::exit(0);
                         }
                         if (tuttiBarrier(comm, nullptr) != tuttiSuccess) return tuttiGetLastError(comm);
                         int status = 0;
                         waitpid(child, &status, 0);
                         if (status != 0) return "the child's status is " + std::to_string(status);
                         if (std::system("exit 3") != 3 << 8) return "system()";
                         if (tuttiBarrier(comm, nullptr) != tuttiSuccess) return tuttiGetLastError(comm);
                       }
                       return "";
                     });
                   }),
      "");
}

TEST(Fork, AParentsDeathIsNotHiddenByItsChild) {
  int stay[2];  // ends when the test lets go of it
  ASSERT_EQ(pipe(stay), 0);
  Processes processes(2, [&](int rank, const tuttiUniqueId& id) -> std::string {
    close(stay[1]);
    const tuttiConfig_t config = configOf();
    tuttiComm_t comm = nullptr;
    if (tuttiCommInitRankConfig(&comm, 2, id, rank, &config) != tuttiSuccess)
      return tuttiGetLastError(nullptr);
    tuttiBarrier(comm, nullptr);
    if (rank == 1) {
      // Nobody ends it with its parent; it outlives the other rank, and lets the pipes of Processes go.
      if (fork() == 0) {
        dup2(stay[0], STDIN_FILENO);
        for (int descriptor = 3; descriptor < 200; ++descriptor) close(descriptor);
        char byte;
        [[maybe_unused]] const ssize_t end = read(STDIN_FILENO, &byte, 1);
        _exit(0);
      }
      raise(SIGKILL);
    }
    const std::string text = untilItFails(comm, 1);
    return text.find("rank 1 is gone") != std::string::npos ? "" : text;
  });
  EXPECT_EQ(processes.wait(0).text, "");
  close(stay[0]);
  close(stay[1]);
}

// What the shell's status says of a program: whether it was started with descriptors of the library.
constexpr char kLookAtDescriptors[] =
    "ls -l /proc/self/fd | grep -qE ' ([3-9]|[0-9]{2,}) -> (.*tutti|anon_inode|socket)' && exit 5; exit 3";

int statusOf(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// Address sanitizer of g++ 12 forks without its allocator's locks: where a thread is allocating, one child in thirty
// finds one of them taken.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kForksBesideAllocation = false;
#else
constexpr bool kForksBesideAllocation = true;
#endif

// Starts programs and ends a child in order, in turn: what is wrong, or nothing.
std::string startOthers(tuttiComm_t comm) {
  for (int i = 0; i < 10; ++i) {
    const int status = std::system(kLookAtDescriptors);
    if (status != 3 << 8) return "system(): " + std::to_string(status);
    pid_t child = -1;
    const char* const arguments[] = {"sh", "-c", kLookAtDescriptors, nullptr};
    if (posix_spawn(&child, "/bin/sh", nullptr, nullptr, const_cast<char* const*>(arguments), environ) != 0)
      return "posix_spawn()";
    if (statusOf(child) != 3) return "the program that posix_spawn() has started";
    if (!kForksBesideAllocation) continue;
    child = fork();
    if (child == 0) std::exit(tuttiBarrier(comm, nullptr) == tuttiInvalidArgument ? 4 : 1);
    if (statusOf(child) != 4) return "a child's exit";
  }
  return "";
}

TEST(Fork, AndProgramsBesideAThreadThatIsInCalls) {
  EXPECT_EQ(runProcesses(2,
                         [](int rank, const tuttiUniqueId& id) {
                           return onCommunicator(
                               2, rank, id, configOf(), [&](tuttiComm_t comm) -> std::string {
                                 std::atomic<bool> done{false};
                                 std::string wrong;
                                 std::thread thread([&] {
                                   wrong = startOthers(comm);
                                   done = true;
                                 });
                                 std::string failed;
                                 // Until both have started all that they want; the first element counts them.
                                 for (int sum = 0; sum < 2 && failed.empty();) {
                                   for (const std::size_t count : {2, 30'000}) {
                                     std::vector<int> values(count, rank + 1);
                                     values[0] = done ? 1 : 0;
                                     if (tuttiAllReduce(values.data(), values.data(), count, tuttiInt32,
                                                        tuttiSum, comm, nullptr) != tuttiSuccess)
                                       failed = tuttiGetLastError(comm);
                                     else if (!std::all_of(values.begin() + 1, values.end(),
                                                           [](int value) { return value == 3; }))
                                       failed = "a wrong value";
                                     sum = values[0];
                                   }
                                 }
                                 thread.join();
                                 return failed + wrong;
                               });
                         }),
            "");
}

// Between init and its first use a child may also be asked to join itself.
TEST(Fork, AChildCanJoin) {
  EXPECT_EQ(runProcesses(1,
                         [](int, const tuttiUniqueId& id) -> std::string {
                           tuttiComm_t comm = nullptr;
                           if (tuttiCommInitRank(&comm, 1, id, 0) != tuttiSuccess)
                             return tuttiGetLastError(nullptr);
                           return runProcesses(2, [](int rank, const tuttiUniqueId& inner) {
                             return onCommunicator(
                                 2, rank, inner, configOf(), [](tuttiComm_t own) -> std::string {
                                   int value = 1;
                                   tuttiAllReduce(&value, &value, 1, tuttiInt32, tuttiSum, own, nullptr);
                                   return value == 2 ? "" : tuttiGetLastError(own);
                                 });
                           });
                         }),
            "");
}

}  // namespace
}  // namespace tutti
