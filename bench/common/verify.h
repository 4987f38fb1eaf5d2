// Fills buffers from a list of pieces and compares them with one, element by element and bit by bit, and puts
// into words which elements are wrong.
#pragma once

#include "buffer.h"
#include "layout.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tutti::bench {

struct WrongElement {
  const char* buffer;  // "recv" or "send"
  std::size_t index;
  std::string got, want;
};

struct WrongElements {
  std::size_t count = 0;
  std::size_t guardBytes = 0;          // bytes outside the buffers that were written
  std::vector<WrongElement> examples;  // the first few
  std::size_t first = 0, last = 0;     // range of wrong indices

  std::size_t total() const { return count + guardBytes; }
};

void fill(Buffer& buffer, tuttiDataType_t type, const std::vector<Piece>& pieces);

// Adds what is wrong in `buffer` to `wrong`. elements: how many the call was given.
void check(const Buffer& buffer, tuttiDataType_t type, const std::vector<Piece>& pieces, std::size_t elements,
           WrongElements* wrong);

// Several lines for standard error, each beginning with '#'.
std::string describe(const WrongElements& wrong, int rank, const std::string& row);

}  // namespace tutti::bench
