// A call like one made before allocates nothing, takes no lock and makes no system call (but to wait for a
// peer that is late). Allocations and locks are counted where the library calls for them; system calls are
// forbidden to the rank's thread by a filter of the kernel, in a process of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/ranks.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TUTTI_SANITIZED 1
// Of sanitizer/allocator_interface.h, which not every compiler package has.
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*onAllocation)(const volatile void*,
                                                                              std::size_t),
                                                         void (*onFree)(const volatile void*));
#else
#define TUTTI_SANITIZED 0
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#endif

namespace {

// Of one call, by its thread.
struct Notes {
  bool taken = false;
  long allocations = 0;
  long locks = 0;
};
thread_local Notes notes;

void noteAllocation() {
  if (notes.taken) ++notes.allocations;
}

}  // namespace

#if TUTTI_SANITIZED
namespace {
void onAllocation(const volatile void*, std::size_t) {
  noteAllocation();
}
void onFree(const volatile void*) {
  noteAllocation();
}
[[maybe_unused]] const int installed = __sanitizer_install_malloc_and_free_hooks(onAllocation, onFree);
}  // namespace
#else
// The library's calls of these resolve to the test program's.
#define TUTTI_INTERPOSED extern "C" __attribute__((visibility("default")))

extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

TUTTI_INTERPOSED void* malloc(std::size_t bytes) {
  noteAllocation();
  return __libc_malloc(bytes);
}
TUTTI_INTERPOSED void free(void* memory) {
  if (memory != nullptr) noteAllocation();
  __libc_free(memory);
}
TUTTI_INTERPOSED void* calloc(std::size_t n, std::size_t bytes) {
  noteAllocation();
  return __libc_calloc(n, bytes);
}
TUTTI_INTERPOSED void* realloc(void* memory, std::size_t bytes) {
  noteAllocation();
  return __libc_realloc(memory, bytes);
}
TUTTI_INTERPOSED void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  noteAllocation();
  return __libc_memalign(alignment, bytes);
}

namespace {
template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
using MutexFunction = int (*)(pthread_mutex_t*);
using LockFunction = int (*)(pthread_rwlock_t*);
int lockWith(MutexFunction function, pthread_mutex_t* mutex) {
  if (notes.taken) ++notes.locks;
  return function(mutex);
}
int lockWith(LockFunction function, pthread_rwlock_t* lock) {
  if (notes.taken) ++notes.locks;
  return function(lock);
}
}  // namespace

TUTTI_INTERPOSED int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto function = next<MutexFunction>("pthread_mutex_lock");
  return lockWith(function, mutex);
}
TUTTI_INTERPOSED int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  static const auto function = next<MutexFunction>("pthread_mutex_trylock");
  return lockWith(function, mutex);
}
TUTTI_INTERPOSED int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  static const auto function = next<LockFunction>("pthread_rwlock_rdlock");
  return lockWith(function, lock);
}
TUTTI_INTERPOSED int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  static const auto function = next<LockFunction>("pthread_rwlock_wrlock");
  return lockWith(function, lock);
}
#endif

namespace tutti {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kCalls = 10'000;

// Memory of one rank; a part of it is registered.
struct Memory {
  std::vector<float> plain = std::vector<float>(40'000, 1.0f);
  std::vector<float> registered = std::vector<float>(40'000, 1.0f);
};

// A cycle of calls that covers lines, slots, windows and the barrier.
tuttiResult_t callOf(int number, int nranks, Memory& memory, tuttiComm_t comm) {
  float* plain = memory.plain.data();
  float* registered = memory.registered.data();
  switch (number % 8) {
    case 0:
      return tuttiAllReduce(plain, plain, 2, tuttiFloat32, tuttiMax, comm, nullptr);
    case 1:
      return tuttiAllReduce(plain, plain, 5'000, tuttiFloat32, tuttiMax, comm, nullptr);
    case 2:
      return tuttiAllReduce(plain, plain, 20'000, tuttiFloat32, tuttiAvg, comm, nullptr);
    case 3:
      return tuttiBroadcast(plain, plain, 100, tuttiInt8, number / 8 % nranks, comm, nullptr);
    case 4:
      return tuttiReduceScatter(plain, plain + 20'000, 300, tuttiFloat32, tuttiSum, comm, nullptr);
    case 5:
      return tuttiAllGather(plain, plain + 20'000, 300, tuttiFloat16, comm, nullptr);
    case 6:
      return tuttiAllReduce(registered, registered, 10'000, tuttiFloat32, tuttiMin, comm, nullptr);
    default:
      return tuttiBarrier(comm, nullptr);
  }
}

// Whoever waits for a tenth of a second looks for what has become of its peers, which is not for free. On a busy machine
// that may come in any call; one that took half as long has not done it.
constexpr std::chrono::milliseconds kLong{50};
thread_local Clock::time_point callBegan;

bool wasLong() {
  return Clock::now() - callBegan >= kLong;
}

// Makes some calls, then whatever `again` makes with the number of each.
template <class Again>
tuttiResult_t drive(tuttiComm_t comm, Again again) {
  Memory memory;
  int nranks = 0;
  tuttiCommCount(comm, &nranks);
  void* handle = nullptr;
  tuttiResult_t result =
      tuttiCommRegister(comm, memory.registered.data(), memory.registered.size() * sizeof(float), &handle);
  const auto call = [&](int number) {
    callBegan = Clock::now();
    return callOf(number, nranks, memory, comm);
  };
  for (int i = 0; i < 32 && result == tuttiSuccess; ++i) result = call(i);
  return result == tuttiSuccess ? again(call) : result;
}

TEST(PlannedCall, AllocatesNothingAndTakesNoLock) {
  for (const int nranks : {1, 2}) {
    const Communicators comms(nranks);
    std::atomic<long> allocations{0}, locks{0};
    const auto results = onRanks(nranks, [&](int rank) {
      return drive(comms[rank], [&](const auto& call) {
        tuttiResult_t result = tuttiSuccess;
        for (int i = 0; i < kCalls && result == tuttiSuccess; ++i) {
          notes = {.taken = true};
          result = call(i);
          notes.taken = false;
          if (wasLong()) continue;
          allocations += notes.allocations;
          locks += notes.locks;
        }
        return result;
      });
    });
    for (const tuttiResult_t result : results) ASSERT_EQ(result, tuttiSuccess);
    EXPECT_EQ(allocations, 0);
    EXPECT_EQ(locks, 0);
  }
}

// The counters see what they are meant to see.
TEST(PlannedCall, TheFirstCallIsCounted) {
  const Communicators comms(1);
  float value = 1;
  notes = {.taken = true};
  const tuttiResult_t result = tuttiAllReduce(&value, &value, 1, tuttiFloat32, tuttiSum, comms[0], nullptr);
  const Communicators more(1);
  notes.taken = false;
  EXPECT_EQ(result, tuttiSuccess);
  EXPECT_GT(notes.allocations, 0);
#if !TUTTI_SANITIZED
  EXPECT_GT(notes.locks, 0);
#endif
}

#if !TUTTI_SANITIZED

// What two processes share.
struct Report {
  std::atomic<int> forbidden{-1};  // the number of the first forbidden call
  std::atomic<bool> late{false};   // it came in a call that was long
  std::atomic<int> result{-1};
};
Report* report = nullptr;

void onForbidden(int, siginfo_t* info, void*) {
  int none = -1;
  if (report->forbidden.compare_exchange_strong(none, info->si_syscall)) report->late = wasLong();
  _exit(1);
}

// From here on the thread may end the process and give its core away, nothing else.
bool forbidSystemCalls() {
  const int allowed[] = {SYS_sched_yield,     SYS_membarrier,    SYS_futex,      SYS_nanosleep,
                         SYS_clock_nanosleep, SYS_clock_gettime, SYS_exit_group, SYS_rt_sigreturn};
  std::vector<sock_filter> filter;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  for (const int number : allowed) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  const bool done = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  filter.clear();
  return done;
}

// In the child: never returns.
[[noreturn]] void makeCallsUnderTheFilter(int nranks, bool makeAForbiddenOne) {
  struct sigaction action = {};
  action.sa_sigaction = onForbidden;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const Communicators comms(nranks);
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < nranks; ++rank)
    threads.emplace_back([&, rank] {
      // No system call is allowed after the first, so what has been used is not given back.
      drive(comms[rank], [&](const auto& call) {
        bool isWell = forbidSystemCalls();
        for (int i = 0; i < kCalls && isWell; ++i) isWell = call(i) == tuttiSuccess;
        if (makeAForbiddenOne) syscall(SYS_getppid);
        if (isWell) ++done;
        while (true) sched_yield();
        return tuttiSuccess;
      });
    });
  while (done != nranks) usleep(1000);
  report->result = 0;
  _exit(0);
}

// What comes of it, in a child; once more if all that it found is that the machine is busy.
std::string reportOn(int nranks, bool makeAForbiddenOne) {
  int status = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    report = new (report) Report;
    const pid_t child = fork();
    if (child == 0) {
      alarm(100);
      makeCallsUnderTheFilter(nranks, makeAForbiddenOne);
    }
    waitpid(child, &status, 0);
    if (!report->late) break;
  }
  return report->result == 0
             ? ""
             : "system call " + std::to_string(report->forbidden) + ", status " + std::to_string(status);
}

TEST(PlannedCall, MakesNoSystemCall) {
  void* shared = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  report = new (shared) Report;
  for (const int nranks : {1, 2}) EXPECT_EQ(reportOn(nranks, false), "");
  // The filter finds one.
  reportOn(1, true);
  EXPECT_EQ(report->forbidden, SYS_getppid);
  munmap(shared, sizeof(Report));
}
#endif

}  // namespace
}  // namespace tutti
