// What the tests of the rendezvous share: an id with its host, ranks with contributions that can be told apart,
// ranks as processes, and the check that nothing is left behind.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/rendezvous/rendezvous.h"

namespace tutti {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

inline constexpr milliseconds kLong{60'000};  // of a test that does not wait for its deadline
inline constexpr milliseconds kSoon{10'000};  // "at once", on a machine that is busy

inline int entriesOf(const char* directory) {
  int entries = 0;
  DIR* const opened = opendir(directory);
  while (readdir(opened) != nullptr) ++entries;
  closedir(opened);
  return entries;
}

inline int openDescriptors() {
  return entriesOf("/proc/self/fd");
}
// Thread sanitizer has a thread of its own, from the program's first one on.
inline int threads() {
  static const bool begun = [] {
    std::thread([] {}).join();
    std::this_thread::sleep_for(10ms);  // until the kernel has forgotten it
    return true;
  }();
  return begun ? entriesOf("/proc/self/task") : 0;
}

// Of the lines of /proc/net/unix with that name, whether one has the text.
inline bool socketHas(const std::string& name, const std::string& text) {
  std::ifstream file("/proc/net/unix");
  for (std::string line; std::getline(file, line);) {
    if (line.find("@" + name) != std::string::npos && line.find(text) != std::string::npos) return true;
  }
  return false;
}
inline bool socketExists(const std::string& name) {
  return socketHas(name, "");
}
// Which is later than that it has its name.
inline bool socketListens(const std::string& name) {
  return socketHas(name, " 00010000 ");
}

inline bool comesTrue(const std::function<bool()>& condition, milliseconds within = kSoon) {
  const auto end = Clock::now() + within;
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

// What rank r contributes: bytes and descriptors of its own number and sizes, among them none.
inline std::string bytesOf(int rank) {
  if (rank % 4 == 1) return "";
  if (rank == 2) return std::string(300'000, 'c');  // more than a socket holds
  return "bytes of rank " + std::to_string(rank);
}
inline std::size_t descriptorsOf(int rank) {
  return static_cast<std::size_t>((rank + 2) % 3);
}
inline std::string textOf(int rank, std::size_t index) {
  return "rank " + std::to_string(rank) + ", descriptor " + std::to_string(index);
}
inline std::string readAt(int descriptor, off_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  const ssize_t got = pread(descriptor, text.data(), bytes, offset);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

inline Contribution contributionOf(int rank, std::size_t descriptors) {
  Contribution mine{bytesOf(rank), {}};
  for (std::size_t i = 0; i < descriptors; ++i) {
    mine.descriptors.push_back(FileDescriptor(memfd_create("contribution", MFD_CLOEXEC)));
    const std::string text = textOf(rank, i);
    if (pwrite(mine.descriptors.back().get(), text.data(), text.size(), 0) < 0)
      mine.descriptors.back().close();  // which the ranks that look at it will find
  }
  return mine;
}
inline Contribution contributionOf(int rank) {
  return contributionOf(rank, descriptorsOf(rank));
}

inline constexpr off_t kMarks = 1000;  // where rank r writes its mark, at kMarks + r

// Joins as that rank and looks at all it gets: order, bytes, descriptors that lead to the same memory.
// `before(r)`: called before rank r's contribution is looked at.
inline Status gather(const UniqueId& id, int rank, int nranks, milliseconds deadline = kLong,
                     const std::function<Status(int)>& before = nullptr,
                     const std::function<std::size_t(int)>& count = descriptorsOf) {
  int next = 0;
  std::vector<FileDescriptor> own;
  const auto wrong = [](const std::string& what) { return Status(Code::internalError, "test: " + what); };
  const auto take = [&](int from, std::string bytes, std::vector<FileDescriptor> descriptors) -> Status {
    if (before != nullptr) TUTTI_TRY(before(from));
    if (from != next++) return wrong("not in rank order");
    if (bytes != bytesOf(from)) return wrong("other bytes");
    if (descriptors.size() != count(from)) return wrong("another number of descriptors");
    for (std::size_t i = 0; i < descriptors.size(); ++i) {
      const int descriptor = descriptors[i].get();
      if (readAt(descriptor, 0, textOf(from, i).size()) != textOf(from, i))
        return wrong("another descriptor");
      if ((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) == 0) return wrong("not close-on-exec");
      if (pwrite(descriptor, "m", 1, kMarks + rank) != 1) return wrong("cannot write");
    }
    if (from == rank) own = std::move(descriptors);
    return Status();
  };
  TUTTI_TRY(joinRendezvous(id, rank, nranks, contributionOf(rank, count(rank)), take, deadline));
  if (next != nranks) return wrong("not all contributions");
  // Whoever returns ok knows that all have taken: so all marks are there.
  for (const FileDescriptor& descriptor : own) {
    if (readAt(descriptor.get(), kMarks, static_cast<std::size_t>(nranks)) !=
        std::string(static_cast<std::size_t>(nranks), 'm'))
      return wrong("not all ranks have it");
  }
  return Status();
}

// Set in one process, seen in all that were forked since it was made.
class SharedFlag {
 public:
  SharedFlag()
      : flag_(static_cast<std::atomic<bool>*>(
            mmap(nullptr, sizeof(*flag_), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  SharedFlag(const SharedFlag&) = delete;
  ~SharedFlag() { munmap(flag_, sizeof(*flag_)); }

  void set() { flag_->store(true); }
  bool isSet() const { return flag_->load(); }

 private:
  std::atomic<bool>* const flag_;
};

// A child of the test, which dies with it. Its body's answer comes back; it must have one within the time given.
class Child {
 public:
  explicit Child(const std::function<Status()>& body) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      alarm(300);
      FileDescriptor::closeAllInChild();
      const Status status = body();
      const std::string text = std::to_string(static_cast<int>(status.code())) + "\n" + status.message();
      if (write(ends[1], text.data(), text.size()) < 0) _exit(1);
      _exit(0);
    }
    ::close(ends[1]);
    answer_ = ends[0];
  }
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), answer_(std::exchange(other.answer_, -1)) {}
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (answer_ >= 0) ::close(answer_);
  }

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }

  // broken: it died, or did not answer.
  Status answer(milliseconds within = kLong) {
    std::string text;
    const auto end = Clock::now() + within;
    for (;;) {
      pollfd waited{answer_, POLLIN, 0};
      const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
      if (left <= 0 || poll(&waited, 1, static_cast<int>(left)) <= 0)
        return Status(Code::broken, "no answer");
      char buffer[4096];
      const ssize_t got = read(answer_, buffer, sizeof(buffer));
      if (got <= 0) break;
      text.append(buffer, static_cast<std::size_t>(got));
    }
    const std::size_t line = text.find('\n');
    if (line == std::string::npos) return Status(Code::broken, "died");
    return Status(static_cast<Code>(std::stoi(text)), text.substr(line + 1));
  }

 private:
  pid_t pid_ = -1;
  int answer_ = -1;
};

// An id of its own for each case, and the check at its end that nothing is left of it.
class Gathering : public testing::Test {
 protected:
  void startHost(milliseconds deadline = kLong) {
    auto started = RendezvousHost::start(id_, deadline);
    ASSERT_TRUE(started.isOk()) << started.status().message();
    host_ = std::move(started).value();
  }

  void TearDown() override {
    const auto began = Clock::now();
    host_.reset();
    EXPECT_LT(Clock::now() - began, kSoon);
    EXPECT_TRUE(comesTrue([this] { return !socketExists(id_.socketName()); }));
    EXPECT_TRUE(comesTrue([this] { return openDescriptors() == descriptors_; }))
        << openDescriptors() << " open descriptors where there were " << descriptors_;
    EXPECT_TRUE(comesTrue([this] { return threads() == threads_; }));
  }

  const int descriptors_ = openDescriptors();
  const int threads_ = threads();
  const UniqueId id_ = UniqueId::make().value();
  std::unique_ptr<RendezvousHost> host_;
};

// gather() by that many threads at once; what each answered.
inline std::vector<Status> gatherInThreads(const UniqueId& id, const std::vector<int>& ranks, int nranks,
                                           milliseconds deadline = kLong) {
  std::vector<Status> answers(ranks.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] { answers[i] = gather(id, ranks[i], nranks, deadline); });
  for (std::thread& thread : threads) thread.join();
  return answers;
}

inline std::vector<int> ranksBelow(int nranks) {
  std::vector<int> ranks;
  for (int rank = 0; rank < nranks; ++rank) ranks.push_back(rank);
  return ranks;
}

inline bool has(const Status& status, const std::string& text) {
  return status.message().find(text) != std::string::npos;
}

}  // namespace tutti
