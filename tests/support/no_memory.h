// A process without memory: no more address space than is said, and nothing that malloc has left.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace tutti {

inline std::size_t addressSpaceInUse() {
  std::ifstream file("/proc/self/statm");
  std::size_t pages = 0;
  file >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

inline void leaveRoomFor(std::size_t bytes) {
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = addressSpaceInUse() + bytes;
  setrlimit(RLIMIT_AS, &limit);
}

inline void leaveAllRoom() {
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
}

// All memory that malloc has left in this process but for one block of `room` bytes; given back at the end.
class Hoard {
 public:
  explicit Hoard(std::size_t room = 0) {
    void* const left = room == 0 ? nullptr : std::malloc(room);
    leaveRoomFor(0);
    // Every size of small ones, because malloc keeps some of each.
    for (std::size_t bytes = 1 << 20; bytes >= 16; bytes = bytes > 1024 ? bytes / 2 : bytes - 16)
      while (auto* block = static_cast<Block*>(std::malloc(bytes))) {
        block->next = blocks_;
        blocks_ = block;
      }
    std::free(left);
  }
  ~Hoard() {
    while (blocks_ != nullptr) std::free(std::exchange(blocks_, blocks_->next));
    leaveAllRoom();
  }
  Hoard(const Hoard&) = delete;
  Hoard& operator=(const Hoard&) = delete;

 private:
  struct Block {
    Block* next;
  };
  Block* blocks_ = nullptr;
};

}  // namespace tutti
