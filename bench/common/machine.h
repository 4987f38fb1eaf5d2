// What a reader of a figure wants to know about the machine, and how much memory a run may take. Read from
// the system, not from the library.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::bench {

struct Machine {
  std::string cpu;
  std::string kernel;
  int cores;
  std::size_t memoryBytes;
};

Machine describeMachine();

// CPUs that this process may run on, ascending.
std::vector<int> allowedCpus();

// What can be allocated now without swapping, by the system and by the control group; SIZE_MAX when unknown.
std::size_t availableMemoryBytes();

// "2026-01-31T12:00:00Z"
std::string dateNow();

}  // namespace tutti::bench
