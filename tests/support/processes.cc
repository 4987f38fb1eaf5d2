// See processes.h.
#include "tests/support/processes.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace tutti {
namespace {

int newsOfChild = -1;

std::string error(const char* what) {
  return std::string(what) + ": " + tuttiGetLastError(nullptr);
}

// Process 0 writes the id once for each of the others, who read one each.
std::string shareId(int process, int count, const int (&pipe)[2], tuttiUniqueId& id) {
  if (process != 0)
    return read(pipe[0], &id, sizeof(id)) == sizeof(id) ? "" : "process 0 ended before there was an id";
  if (tuttiGetUniqueId(&id) != tuttiSuccess) return error("tuttiGetUniqueId");
  for (int other = 1; other < count; ++other) {
    if (write(pipe[1], &id, sizeof(id)) != sizeof(id)) return "the id could not be sent";
  }
  return "";
}

[[noreturn]] void runChild(int process, int count, const Processes::Body& body, const Processes::Enter& enter,
                           const int (&ids)[2], int output) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(Processes::kLimitSeconds);
  tuttiUniqueId id{};
  std::string wrong = enter == nullptr ? "" : enter(process);
  if (wrong.empty()) wrong = shareId(process, count, ids, id);
  close(ids[0]);
  close(ids[1]);
  if (wrong.empty()) wrong = body(process, id);
  [[maybe_unused]] const ssize_t written = write(output, wrong.data(), wrong.size());
  close(output);
  std::exit(wrong.empty() ? 0 : 1);
}

}  // namespace

bool ProcessEnd::isKilledBy(int signal) const {
  return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

Processes::Processes(int count, const Body& body, const Enter& enter)
    : children_(static_cast<std::size_t>(count)) {
  int ids[2];
  int news[2];
  if (pipe(ids) != 0 || pipe(news) != 0) std::abort();
  for (int process = 0; process < count; ++process) {
    Child& child = children_[static_cast<std::size_t>(process)];
    int output[2];
    if (pipe(output) != 0) std::abort();
    child.pid = fork();
    if (child.pid == 0) {
      // Only its own ends, so that the pipes end with their processes.
      for (const Child& other : children_) {
        if (other.output >= 0) close(other.output);
      }
      close(output[0]);
      close(news[0]);
      newsOfChild = news[1];
      runChild(process, count, body, enter, ids, output[1]);
    }
    close(output[1]);
    child.output = output[0];
  }
  close(ids[0]);
  close(ids[1]);
  close(news[1]);
  news_ = news[0];
}

Processes::~Processes() {
  for (int process = 0; process < count(); ++process) {
    Child& child = children_[static_cast<std::size_t>(process)];
    if (child.ended) continue;
    signal(process, SIGKILL);
    signal(process, SIGCONT);
    wait(process);
  }
  close(news_);
}

void Processes::signal(int process, int number) const {
  const Child& child = children_[static_cast<std::size_t>(process)];
  if (!child.ended) kill(child.pid, number);
}

bool Processes::hear() {
  char byte;
  return read(news_, &byte, 1) == 1;
}

void Processes::tell() {
  [[maybe_unused]] const ssize_t written = write(newsOfChild, "", 1);
}

ProcessEnd Processes::wait(int process) {
  Child& child = children_[static_cast<std::size_t>(process)];
  ProcessEnd end;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(child.output, buffer, sizeof(buffer))) > 0;)
    end.text.append(buffer, static_cast<std::size_t>(n));
  close(child.output);
  waitpid(child.pid, &end.status, 0);
  child.ended = true;
  if (end.text.empty() && end.status != 0 && !end.isKilledBy(SIGKILL))
    end.text = "it ended with status " + std::to_string(end.status);
  return end;
}

std::vector<ProcessEnd> Processes::waitForAll() {
  std::vector<ProcessEnd> ends;
  for (int process = 0; process < count(); ++process) ends.push_back(wait(process));
  return ends;
}

std::string onCommunicator(int nranks, int rank, const tuttiUniqueId& id, const tuttiConfig_t& config,
                           const std::function<std::string(tuttiComm_t)>& body) {
  tuttiComm_t comm = nullptr;
  if (tuttiCommInitRankConfig(&comm, nranks, id, rank, &config) != tuttiSuccess)
    return error("tuttiCommInitRankConfig");
  std::string wrong = body(comm);
  if (tuttiCommDestroy(comm) != tuttiSuccess && wrong.empty()) wrong = error("tuttiCommDestroy");
  return wrong;
}

std::string untilItFails(tuttiComm_t comm, std::size_t count, double* seconds) {
  using Clock = std::chrono::steady_clock;
  std::vector<float> mine(count, 1);
  std::vector<float> sum(count);
  for (;;) {
    const auto begin = Clock::now();
    const tuttiResult_t result =
        tuttiAllReduce(mine.data(), sum.data(), count, tuttiFloat32, tuttiSum, comm, nullptr);
    if (result == tuttiSuccess) continue;
    if (seconds != nullptr) *seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return tuttiGetLastError(comm);
  }
}

std::string runProcesses(int count, const Processes::Body& body, const Processes::Enter& enter) {
  Processes processes(count, body, enter);
  std::string wrong;
  for (int process = 0; process < count; ++process) {
    const ProcessEnd end = processes.wait(process);
    if (end.status != 0 || !end.text.empty())
      wrong += "process " + std::to_string(process) + ", status " + std::to_string(end.status) + ": " +
               end.text + "\n";
  }
  return wrong;
}

}  // namespace tutti
