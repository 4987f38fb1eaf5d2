// What a process can leave in itself and in the system, and waiting until it is gone.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

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

// Within two seconds; the service thread takes its time.
inline bool comesTrue(const std::function<bool()>& condition) {
  for (int i = 0; i < 200 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return condition();
}

// Nothing of other processes is mapped any more: what is left, or nothing.
inline std::string peersMapped() {
  return comesTrue([] { return arenasMapped() <= 1; })
             ? ""
             : std::to_string(arenasMapped()) + " arenas are mapped";
}

}  // namespace tutti
