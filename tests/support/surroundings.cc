// See surroundings.h.
#include "tests/support/surroundings.h"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace tutti {
namespace {

std::string failed(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

bool write(const char* path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  return file.good();
}

// Who was it outside is root in there.
std::string mapUser(uid_t user, gid_t group) {
  if (!write("/proc/self/setgroups", "deny")) return failed("setgroups");
  if (!write("/proc/self/uid_map", "0 " + std::to_string(user) + " 1")) return failed("uid_map");
  if (!write("/proc/self/gid_map", "0 " + std::to_string(group) + " 1")) return failed("gid_map");
  return "";
}

bool isolate(const std::string& mountPoint, unsigned long flags) {
  return mount("none", mountPoint.c_str(), nullptr, flags | MS_PRIVATE, nullptr) == 0;
}

// In a chroot the root is no mount point as a rule; then those are that something is mounted on.
std::string mountAll(const std::vector<Surroundings::Tmpfs>& all) {
  const bool isolated = isolate("/", MS_REC);
  for (const Surroundings::Tmpfs& one : all) {
    if (!isolated && !isolate(one.at, 0)) return failed("private mounts");
    if (mount("tutti", one.at.c_str(), "tmpfs", 0, one.options.c_str()) != 0)
      return failed("mount " + one.at);
  }
  return "";
}

std::string become(uid_t user) {
  if (setgid(user) != 0) return failed("setgid");
  if (setuid(user) != 0) return failed("setuid");
  return "";
}

[[noreturn]] void endLike(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFSIGNALED(status)) raise(WTERMSIG(status));
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

}  // namespace

std::string enter(const Surroundings& surroundings) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (surroundings.namespaces != 0 && unshare(surroundings.namespaces) != 0) return failed("unshare");
  std::string wrong;
  if ((surroundings.namespaces & CLONE_NEWUSER) != 0) wrong = mapUser(user, group);
  if (wrong.empty() && (surroundings.namespaces & CLONE_NEWNS) != 0) wrong = mountAll(surroundings.tmpfs);
  if (wrong.empty() && surroundings.user != 0) wrong = become(surroundings.user);
  if (!wrong.empty()) return wrong;
  if (surroundings.descriptors != 0) {
    const rlimit limit{static_cast<rlim_t>(surroundings.descriptors),
                       static_cast<rlim_t>(surroundings.descriptors)};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return failed("setrlimit");
  }
  if ((surroundings.namespaces & CLONE_NEWPID) != 0) {
    const pid_t child = fork();
    if (child < 0) return failed("fork");
    if (child != 0) endLike(child);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // which neither a fork nor another user keeps
  return "";
}

std::string refusalOf(const Surroundings& surroundings) {
  int answer[2];
  if (pipe(answer) != 0) return failed("pipe");
  const pid_t child = fork();
  if (child == 0) {
    const std::string wrong = enter(surroundings);
    _exit(::write(answer[1], wrong.data(), wrong.size()) == static_cast<ssize_t>(wrong.size()) ? 0 : 1);
  }
  close(answer[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; (n = read(answer[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(answer[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return text.empty() && status != 0 ? "the process died" : text;
}

}  // namespace tutti
