// Ranks as processes: forked children that get one id through a pipe, as a launcher would give it to them. Unlike
// under mpirun, survivors of a killed one can be looked at. A child ends with its parent, and after kLimitSeconds at the
// latest.
#pragma once

#include <sys/types.h>
#include <tutti/tutti.h>

#include <functional>
#include <string>
#include <vector>

namespace tutti {

struct ProcessEnd {
  int status = 0;    // as waitpid() gives it
  std::string text;  // what it said; or how it ended, if neither well nor killed

  bool isKilledBy(int signal) const;
};

class Processes {
 public:
  static constexpr unsigned kLimitSeconds = 300;

  // What a child does. It answers what is wrong, or nothing; that is what the process says.
  using Body = std::function<std::string(int process, const tuttiUniqueId& id)>;
  // What it does first of all, before there is an id: it may go elsewhere (surroundings.h). Answers likewise.
  using Enter = std::function<std::string(int process)>;

  // Process 0 makes the id, so the test's own process never uses the library.
  Processes(int count, const Body& body, const Enter& enter = nullptr);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();  // kills those that are left

  int count() const { return static_cast<int>(children_.size()); }
  pid_t pid(int process) const { return children_[static_cast<std::size_t>(process)].pid; }
  void signal(int process, int number) const;

  // A byte from any child by tell(), which says that it has come so far; blocks. False: none comes any more.
  bool hear();
  // In a child: see hear().
  static void tell();

  // Waits for the end of one, of all.
  ProcessEnd wait(int process);
  std::vector<ProcessEnd> waitForAll();

 private:
  struct Child {
    pid_t pid = -1;
    int output = -1;
    bool ended = false;
  };
  std::vector<Child> children_;
  int news_ = -1;
};

// One communicator over processes with one rank each: made, used by `body`, destroyed. Answers what is wrong.
std::string onCommunicator(int nranks, int rank, const tuttiUniqueId& id, const tuttiConfig_t& config,
                           const std::function<std::string(tuttiComm_t)>& body);

// All-reduces of `count` elements until one fails; its text, and how long the failing call took.
std::string untilItFails(tuttiComm_t comm, std::size_t count, double* seconds = nullptr);

// All `count` processes have to say nothing and end well; otherwise what they say.
std::string runProcesses(int count, const Processes::Body& body, const Processes::Enter& enter = nullptr);

}  // namespace tutti
