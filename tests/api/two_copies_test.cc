// The library twice in one process, as when two plugins bring one each: a copy of the file is loaded beside the one that
// the program links. Each has communicators of its own; neither knows of the other, and both see the ends of processes.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/processes.h"

namespace tutti {
namespace {

struct Library {
  decltype(&::tuttiGetUniqueId) getUniqueId;
  decltype(&::tuttiCommInitAllConfig) initAll;
  decltype(&::tuttiCommInitRankConfig) initRank;
  decltype(&::tuttiCommDestroy) destroy;
  decltype(&::tuttiAllReduce) allReduce;
  decltype(&::tuttiBroadcast) broadcast;
  decltype(&::tuttiGetLastError) lastError;
};

const Library kLinked{tuttiGetUniqueId, tuttiCommInitAllConfig, tuttiCommInitRankConfig, tuttiCommDestroy,
                      tuttiAllReduce,   tuttiBroadcast,         tuttiGetLastError};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) std::abort();
}

Library loadCopy() {
  Dl_info linked{};
  if (dladdr(reinterpret_cast<const void*>(&tuttiGetUniqueId), &linked) == 0) std::abort();
  char folder[] = "/tmp/tutti-two-copies-XXXXXX";
  if (mkdtemp(folder) == nullptr) std::abort();
  const std::string file = std::string(folder) + "/libcopy.so";
  std::filesystem::copy_file(std::filesystem::canonical(linked.dli_fname), file);
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  std::filesystem::remove_all(folder);
  if (handle == nullptr) std::abort();
  Library copy{};
  find(handle, "tuttiGetUniqueId", copy.getUniqueId);
  if (copy.getUniqueId == kLinked.getUniqueId) std::abort();  // the same file once more
  find(handle, "tuttiCommInitAllConfig", copy.initAll);
  find(handle, "tuttiCommInitRankConfig", copy.initRank);
  find(handle, "tuttiCommDestroy", copy.destroy);
  find(handle, "tuttiAllReduce", copy.allReduce);
  find(handle, "tuttiBroadcast", copy.broadcast);
  find(handle, "tuttiGetLastError", copy.lastError);
  return copy;
}

// Before any fork.
const Library kCopy = loadCopy();

const char* nameOf(const Library& library) {
  return &library == &kLinked ? "linked: " : "copy: ";
}

std::string failed(const Library& library, tuttiComm_t comm = nullptr) {
  return nameOf(library) + std::string(library.lastError(comm));
}

// One rank of a communicator of that library.
class Rank {
 public:
  explicit Rank(const Library& library) : library_(library) {}

  std::string join(int nranks, int rank, const tuttiUniqueId& id) {
    const tuttiConfig_t config = configOf();
    nranks_ = nranks;
    return library_.initRank(&comm_, nranks, id, rank, &config) == tuttiSuccess ? "" : failed(library_);
  }

  tuttiResult_t add(std::vector<float>& values) const {
    return library_.allReduce(values.data(), values.data(), values.size(), tuttiFloat32, tuttiSum, comm_,
                              nullptr);
  }

  // Calls of several sizes with their values compared.
  std::string work() const {
    for (int i = 0; i < 60; ++i) {
      std::vector<float> values(i % 3 == 0 ? 1 : i % 3 == 1 ? 500 : 60'000, static_cast<float>(i));
      if (add(values) != tuttiSuccess) return failed(library_, comm_);
      for (float value : values) {
        if (value != static_cast<float>(i * nranks_)) return nameOf(library_) + std::string("a wrong value");
      }
    }
    return "";
  }

  // Bytes of rank 0.
  std::string receive(void* bytes, std::size_t count) const {
    if (library_.broadcast(bytes, bytes, count, tuttiInt8, 0, comm_, nullptr) == tuttiSuccess) return "";
    return failed(library_, comm_);
  }

  std::string untilItFails() const {
    std::vector<float> values(10);
    while (add(values) == tuttiSuccess) continue;
    return failed(library_, comm_);
  }

  std::string leave() const { return library_.destroy(comm_) == tuttiSuccess ? "" : failed(library_); }

  const Library& library() const { return library_; }

 private:
  const Library& library_;
  tuttiComm_t comm_ = nullptr;
  int nranks_ = 0;
};

// A rank of each library, of which `body` makes use; then both leave.
std::string onBoth(int nranks, int rank, const tuttiUniqueId& id,
                   const std::function<std::string(Rank& linked, Rank& copy)>& body) {
  Rank linked(kLinked), copy(kCopy);
  std::string wrong = linked.join(nranks, rank, id);
  if (!wrong.empty()) return wrong;
  tuttiUniqueId own{};
  if (rank == 0 && kCopy.getUniqueId(&own) != tuttiSuccess) return failed(kCopy);
  wrong = linked.receive(&own, sizeof(own));
  if (wrong.empty()) wrong = copy.join(nranks, rank, own);
  if (wrong.empty()) wrong = body(linked, copy);
  if (wrong.empty()) wrong = copy.leave();
  return wrong.empty() ? linked.leave() : wrong;
}

std::string bothAtOnce(const std::function<std::string()>& one, const std::function<std::string()>& other) {
  std::string wrong;
  std::thread thread([&] { wrong = other(); });
  const std::string own = one();
  thread.join();
  return own + wrong;
}

TEST(TwoCopies, WorkSideBySide) {
  EXPECT_EQ(runProcesses(2,
                         [](int process, const tuttiUniqueId& id) -> std::string {
                           const auto run = [&](int rank) {
                             return onBoth(4, rank, id, [](Rank& linked, Rank& copy) {
                               return bothAtOnce([&] { return linked.work(); }, [&] { return copy.work(); });
                             });
                           };
                           return bothAtOnce([&] { return run(2 * process); },
                                             [&] { return run(2 * process + 1); });
                         }),
            "");
}

// To each other they are like two processes, so they can also be ranks of one communicator.
TEST(TwoCopies, MeetInOneCommunicator) {
  EXPECT_EQ(runProcesses(1,
                         [](int, const tuttiUniqueId& id) {
                           const auto run = [&](const Library& library, int rank) {
                             Rank own(library);
                             std::string wrong = own.join(2, rank, id);
                             if (wrong.empty()) wrong = own.work();
                             return wrong.empty() ? own.leave() : wrong;
                           };
                           return bothAtOnce([&] { return run(kLinked, 0); }, [&] { return run(kCopy, 1); });
                         }),
            "");
}

TEST(TwoCopies, NameADeath) {
  Processes processes(3, [](int rank, const tuttiUniqueId& id) {
    return onBoth(3, rank, id, [&](Rank& linked, Rank& copy) -> std::string {
      std::string wrong = linked.work();
      if (wrong.empty()) wrong = copy.work();
      if (!wrong.empty()) return wrong;
      if (rank == 1) raise(SIGKILL);
      for (const Rank* own : {&linked, &copy}) {
        const std::string text = own->untilItFails();
        if (text.find("rank 1 is gone") == std::string::npos) return text;
      }
      return "";
    });
  });
  const auto ends = processes.waitForAll();
  EXPECT_EQ(ends[0].text + ends[2].text, "");
  EXPECT_EQ(ends[0].status + ends[2].status, 0);
  EXPECT_TRUE(ends[1].isKilledBy(SIGKILL)) << ends[1].text;
}

TEST(TwoCopies, EndWithoutDestroy) {
  Processes processes(2, [](int rank, const tuttiUniqueId& id) {
    return onBoth(2, rank, id, [&](Rank& linked, Rank& copy) -> std::string {
      if (rank == 1) std::exit(0);
      for (const Rank* own : {&linked, &copy}) {
        const std::string text = own->untilItFails();
        if (text.find("rank 1 is gone") == std::string::npos) return text;
      }
      return "";
    });
  });
  for (const ProcessEnd& end : processes.waitForAll()) {
    EXPECT_EQ(end.text, "");
    EXPECT_EQ(end.status, 0);
  }
}

// A child is refused both parents' handles, may use both anew, and disturbs neither.
TEST(TwoCopies, AreForked) {
  const auto useAnew = [](Rank& linked, Rank& copy) {
    for (Rank* parents : {&linked, &copy}) {
      std::vector<float> values(1);
      if (parents->add(values) != tuttiInvalidArgument) return 1;
      const tuttiConfig_t config = configOf();
      tuttiComm_t comm = nullptr;
      if (parents->library().initAll(&comm, 1, nullptr, &config) != tuttiSuccess) return 2;
      if (parents->library().allReduce(values.data(), values.data(), 1, tuttiFloat32, tuttiSum, comm,
                                       nullptr) != tuttiSuccess)
        return 3;
    }
    return 0;
  };
  EXPECT_EQ(runProcesses(2,
                         [&](int rank, const tuttiUniqueId& id) {
                           return onBoth(2, rank, id, [&](Rank& linked, Rank& copy) -> std::string {
                             const pid_t child = fork();
                             if (child == 0) std::exit(useAnew(linked, copy));
                             std::string wrong = linked.work();
                             if (wrong.empty()) wrong = copy.work();
                             int status = 0;
                             waitpid(child, &status, 0);
                             if (status != 0) return "the child's status is " + std::to_string(status);
                             return wrong;
                           });
                         }),
            "");
}

}  // namespace
}  // namespace tutti
