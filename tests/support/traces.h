// What a process can leave in itself and in the system.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/support/waiting.h"

namespace tutti {

// Lines of a file of /proc that have this part.
inline int linesWith(const std::string& file, const std::string& part) {
  std::ifstream in(file);
  int found = 0;
  for (std::string line; std::getline(in, line);) found += line.find(part) != std::string::npos ? 1 : 0;
  return found;
}

// Of this process: its own arena, and those of peers.
inline int arenasMapped() {
  return linesWith("/proc/self/maps", "memfd:tutti");
}

inline long openDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// Nothing of other processes is mapped any more: what is left, or nothing. The service thread takes its time.
inline std::string peersMapped() {
  return comesTrue([] { return arenasMapped() <= 1; })
             ? ""
             : std::to_string(arenasMapped()) + " arenas are mapped";
}

}  // namespace tutti
