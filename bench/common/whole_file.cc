// Where a path leads, the other name, and the system's own words for what goes wrong.
#include "whole_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tutti::bench {
namespace {

struct Target {
  std::string path;
  bool exists = false;
  bool regular = true;
  struct stat facts = {};
};

Target targetOf(const std::string& path) {
  Target target{path};
  target.exists = stat(path.c_str(), &target.facts) == 0;
  target.regular = !target.exists || S_ISREG(target.facts.st_mode);
  if (!target.exists || !target.regular) return target;
  // Renaming onto a link would replace the link.
  if (char* real = realpath(path.c_str(), nullptr)) {
    target.path = real;
    std::free(real);
  }
  return target;
}

std::string otherName(const Target& target) {
  return fmt::format("{}.{}.part", target.path, getpid());
}

int openOther(const Target& target) {
  return open(otherName(target).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

bool isStandardOutput(const Target& target) {
  struct stat output = {};
  return fstat(STDOUT_FILENO, &output) == 0 && output.st_dev == target.facts.st_dev &&
         output.st_ino == target.facts.st_ino;
}

// Writes everything and closes the file; 0, or the errno of what failed first.
int writeAndClose(int file, const std::string& text) {
  int error = 0;
  for (std::size_t done = 0; error == 0 && done < text.size();) {
    const ssize_t written = write(file, text.data() + done, text.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (close(file) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace

std::string whyNotWritable(const std::string& path) {
  const Target target = targetOf(path);
  if (target.exists) {
    // Not opened: whoever reads from a pipe would take its closing for the end.
    if (S_ISDIR(target.facts.st_mode)) return std::strerror(EISDIR);
    if (access(target.path.c_str(), W_OK) != 0) return std::strerror(errno);
    if (target.regular && isStandardOutput(target)) return "standard output is written to the same file";
  }
  if (!target.regular) return "";
  const int file = openOther(target);
  if (file < 0) return std::strerror(errno);
  close(file);
  unlink(otherName(target).c_str());
  return "";
}

std::string writeWhole(const std::string& path, const std::string& text) {
  const Target target = targetOf(path);
  const int file = target.regular ? openOther(target) : open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (file < 0) return std::strerror(errno);
  if (!target.regular) {
    const int error = writeAndClose(file, text);
    return error == 0 ? "" : std::strerror(error);
  }
  int error = target.exists && fchmod(file, target.facts.st_mode & 07777) != 0 ? errno : 0;
  if (const int writing = writeAndClose(file, text)) error = writing;
  if (error == 0 && std::rename(otherName(target).c_str(), target.path.c_str()) != 0) error = errno;
  if (error == 0) return "";
  unlink(otherName(target).c_str());
  return std::strerror(error);
}

}  // namespace tutti::bench
