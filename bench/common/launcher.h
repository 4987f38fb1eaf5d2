// Who started this process, as far as the environment tells: a launcher says there how many processes it has
// started. A pure function of the environment, so that every launcher can be played in a test.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace tutti::bench {

struct Launcher {
  std::string name;  // for people
  std::string sign;  // the variable that told, with its value
  int process;       // of this one
  int processes;     // 0: it does not say
};

// As getenv: nullptr for what is not set.
using Environment = std::function<const char*(const char*)>;

// The launcher, or nothing for a program that a person or a script has started.
std::optional<Launcher> launcherIn(const Environment& environment);

}  // namespace tutti::bench
