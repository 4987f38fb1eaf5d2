// Plain stdio: fmt::print throws when a stream is full, also from the place that reports it.
#include "output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

namespace tutti::bench {

std::string print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return "";
  return std::string("cannot write standard output: ") + std::strerror(errno);
}

void complain(const std::string& text) {
  std::fputs(text.c_str(), stderr);
}

const char* wordsFor(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) return error.what();
  return "out of memory: use smaller sizes (-e) or fewer ranks (-t), or allow more memory (ulimit -v)";
}

}  // namespace tutti::bench
