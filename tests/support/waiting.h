// Waiting for what another thread does, for as long as it takes it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace tutti {

// False: not within a minute.
inline bool comesTrue(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

// Whether a thread of this process, by its number of gettid(), is there and sleeps: in a call, it waits for a peer.
inline bool isAsleep(pid_t thread) {
  std::ifstream in("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(in, text);
  const std::size_t name = text.rfind(") ");
  return name != std::string::npos && text.compare(name, 3, ") S") == 0;
}

}  // namespace tutti
