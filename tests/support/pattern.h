// The data of a test and what a collective must make of it: small integers, so that every order of adding
// gives the same bits, repeated with a period that divides no block. Element i of rank r is the same whatever
// collective reads it.
#pragma once

#include <tutti/tutti.h>

#include <cstddef>
#include <vector>

namespace tutti::reference {

class Pattern {
 public:
  static constexpr std::size_t kPeriod = 997;

  Pattern(tuttiDataType_t type, tuttiRedOp_t operation, int nranks, unsigned seed);

  // Elements [first, first + count) of a rank's data.
  void fill(int rank, void* to, std::size_t first, std::size_t count) const;

  // The first index at which `data` is not the rank's data, or not the reduced data of all ranks, of elements
  // [first, first + count); count if all are right.
  std::size_t differsFromData(int rank, const void* data, std::size_t first, std::size_t count) const;
  std::size_t differsFromReduced(const void* data, std::size_t first, std::size_t count) const;

 private:
  std::size_t differs(const std::vector<unsigned char>& period, const void* data, std::size_t first,
                      std::size_t count) const;

  std::size_t size_;
  std::vector<std::vector<unsigned char>> data_;  // by rank
  std::vector<unsigned char> reduced_;
};

}  // namespace tutti::reference
