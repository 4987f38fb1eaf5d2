// One cell of the matrix of collectives: a call on every rank of a communicator with a forced algorithm, its
// results compared with the reference and everything around them compared with what was there before.
// matrix_test.cc and matrix_long_test.cc choose the cells.
#pragma once

#include <tutti/tutti.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/kernels/guarded_buffer.h"
#include "tests/support/communicators.h"
#include "tests/support/pattern.h"

namespace tutti {

enum class Kind { allReduce, broadcast, reduce, reduceScatter, allGather, barrier };
inline constexpr Kind kKinds[] = {Kind::allReduce,     Kind::broadcast, Kind::reduce,
                                  Kind::reduceScatter, Kind::allGather, Kind::barrier};
const char* nameOf(Kind kind);  // as plans and settings write it
bool reduces(Kind kind);
bool isRooted(Kind kind);

enum class Placing { outOfPlace, inPlace, mixed };
enum class Driver { threads, group };  // a thread for each rank, or one thread with a group
// Which ranks' memory is registered: with none and with some, calls go through slots.
enum class Registered { none, all, some };

struct Cell {
  Kind kind = Kind::allReduce;
  std::string algorithm;  // empty: the library chooses
  int nranks = 2;
  std::size_t count = 1;
  tuttiDataType_t type = tuttiFloat32;
  tuttiRedOp_t operation = tuttiSum;
  int root = 0;
  Placing placing = Placing::outOfPlace;
  Driver driver = Driver::group;
  Registered registered = Registered::none;
  std::size_t slack = 0;  // bytes between the end of a buffer and the forbidden page
  unsigned seed = 1;

  std::string text() const;
};

// What the library is documented to know, in the names of the settings.
const std::vector<std::string>& algorithmNames();
bool serves(const std::string& algorithm, Kind kind);

class Matrix {
 public:
  Matrix();
  ~Matrix();

  // Empty when all is as it should be, else what is wrong, in words.
  std::string run(const Cell& cell);

  // The part of one rank, whose peers do theirs elsewhere at the same time: on `comm`, which was made for the cell's
  // algorithm, and with memory of tuttiMemAlloc that is registered if the cell says so.
  std::string runRank(const Cell& cell, int rank, tuttiComm_t comm);

  // Of the cell that ran last with the same algorithm, number of ranks and memory.
  tuttiPlan_t lastPlan(const Cell& cell, int rank) { return lastPlanOf(memberFor(cell).comms[rank]); }

 private:
  struct Arena {
    explicit Arena(std::size_t capacity) : send(capacity), recv(capacity) {}
    Arena(void* sendMemory, void* recvMemory, std::size_t capacity)
        : send(sendMemory, capacity), recv(recvMemory, capacity) {}
    GuardedBuffer send;
    GuardedBuffer recv;
  };
  struct Member {
    Communicators comms;
    bool isRegistered = false;
  };
  struct Buffers {
    void* send = nullptr;
    void* recv = nullptr;
    bool inPlace = false;
    std::vector<unsigned char> recvBefore;  // where this rank's receive buffer must not change
  };

  Member& memberFor(const Cell& cell);
  const reference::Pattern& patternFor(const Cell& cell);
  // With what the rank sends in it.
  Buffers place(const Cell& cell, int rank);
  std::string check(const Cell& cell, int rank, const Buffers& buffers,
                    const reference::Pattern& pattern) const;
  std::string checkPlan(const Cell& cell, tuttiComm_t comm) const;

  std::vector<std::unique_ptr<Arena>> arenas_;  // by rank
  tuttiComm_t registered_ = nullptr;            // that the arenas of runRank() are registered with
  std::map<std::pair<int, std::string>, Member> members_;
  std::map<std::vector<int>, std::unique_ptr<reference::Pattern>> patterns_;
};

}  // namespace tutti
