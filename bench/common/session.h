// A run in progress: this process's ranks with their buffers, and how one line of results comes about: time each
// placement, then run one checked call on fresh data.
#pragma once

#include "buffer.h"
#include "collective.h"
#include "layout.h"
#include "options.h"
#include "ranks.h"
#include "row.h"
#include "timing.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::bench {

class Session {
 public:
  // Makes the threads of this process's ranks; throws as Ranks does.
  Session(const Collective& collective, const Options& options, Launch& launch);

  // Collective over the processes, as all that follows: makes the communicator, then binds the threads if asked.
  Outcome join();

  // Makes the buffers of this process's ranks: room for so many bytes each, beginning `offset` bytes after a page boundary.
  Outcome makeBuffers(std::size_t sendBytes, std::size_t recvBytes, std::size_t offset);
  void releaseBuffers();

  // Measures and checks one line. The row's description is written first, so that a failure can name it.
  Outcome measureRow(tuttiDataType_t type, tuttiRedOp_t op, int root, std::size_t count, Row* row);

  TimingMethod method() const;

 private:
  struct RankBuffers {
    Buffer send, recv;
    void* sendHandle = nullptr;
    void* recvHandle = nullptr;
  };

  // What is measured on one line, for one placement.
  struct Case {
    Layout layout;
    tuttiDataType_t type;
    tuttiRedOp_t op;
  };

  Outcome measureCase(const Case& one, std::size_t sizeBytes, RowResult* result);
  Outcome checkCase(const Case& one, const std::string& label, RowResult* result);
  Call callOf(const Case& one, int rank);

  const Collective& collective_;
  const Options& options_;
  Ranks ranks_;
  std::vector<RankBuffers> buffers_;  // each entry is its rank's thread's during a job
  unsigned seed_ = 0;
};

}  // namespace tutti::bench
