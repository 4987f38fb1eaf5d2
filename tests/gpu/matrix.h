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

// Runs placed calls. One thread at a time.
class MatrixTarget {
 public:
  virtual ~MatrixTarget() = default;

  virtual std::byte* host() = 0;    // where calls are placed
  virtual std::byte* device() = 0;  // where what is placed there lies when it runs
  virtual std::size_t capacity() const = 0;
  // Runs the calls in their order and brings the first `used` bytes back. What went wrong, or nothing.
  virtual std::string run(std::size_t used, const std::vector<PlacedCall>& calls) = 0;
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
  std::uint64_t wrong = 0;          // calls; links and guard bytes count as one each
  std::vector<std::string> faults;  // the first ones
};

// Works on `nworkers` threads, each with a target of its own.
MatrixResult runMatrix(const MatrixExtent& extent, unsigned nworkers,
                       const std::function<std::unique_ptr<MatrixTarget>()>& makeTarget);

}  // namespace tutti::cuda
