// The matrix: every collective by every algorithm and format, with every type and operation, small and large,
// in place and not, aligned and not, against the golden results of a host thread (host_ranks.h), bit for bit.
// What runs the calls is the caller's: a GPU, or emulated blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/virtual_communicator.h"

namespace tutti::cuda {

struct MatrixRun {
  std::size_t ncalls = 0;  // that were run
  std::string failure;     // what went wrong, or nothing
  bool isBack = true;      // false: the bytes could not be brought back, and of the calls nothing is known
};

// Runs placed calls. One thread at a time, the one that made it.
class MatrixTarget {
 public:
  virtual ~MatrixTarget() = default;

  virtual std::byte* host() = 0;    // where calls are placed
  virtual std::byte* device() = 0;  // where what is placed there lies when it runs
  virtual std::size_t capacity() const = 0;
  virtual unsigned mostBlocks() const = 0;  // of a launch
  // Runs the calls in their order, up to one that does not come to its end, and brings the first `used` bytes back.
  virtual MatrixRun run(std::size_t used, const std::vector<PlacedCall>& calls) = 0;
};

struct MatrixExtent {
  std::vector<int> nranks;
  // Elements of a rank's whole vector, which all-gather and reduce-scatter divide among the ranks.
  std::vector<std::uint64_t> sizes;       // all variants of places
  std::vector<std::uint64_t> largeSizes;  // one variant for each type and operation, in turn
  std::vector<std::uint64_t> hugeSizes;   // one type and operation for each collective and algorithm, in turn
};

struct MatrixResult {
  std::uint64_t calls = 0;
  std::uint64_t callsAsWords = 0;
  std::uint64_t leftOut = 0;  // calls with more lanes than the target has room for
  std::uint64_t wrong = 0;    // calls; links and guard bytes of a batch count as one each
  std::uint64_t nbroken = 0;  // batches that ended early: a call that failed, or did not come to its end
  std::vector<std::string> faults;  // the first ones
};

// A call that hangs takes as long as thousands that do not: after so many broken batches no other is begun.
inline constexpr std::uint64_t kMostBrokenBatches = 3;

// Works on `nworkers` threads, each with a target of its own. A thread that gets none does nothing; whoever makes
// them knows why.
MatrixResult runMatrix(const MatrixExtent& extent, unsigned nworkers,
                       const std::function<std::unique_ptr<MatrixTarget>()>& makeTarget);

}  // namespace tutti::cuda
