// Where a call's data lies: for each kind of collective and placement, the pieces of a rank's buffers before
// the call and after it. Filling and checking walk over such lists and know no collectives.
#pragma once

#include "collective.h"
#include "pattern.h"

#include <cstddef>
#include <vector>

namespace tutti::bench {

enum class Placement { outOfPlace, inPlace };

// count elements at element `at` of a buffer, equal to `sequence` from its element `phase` on.
struct Piece {
  std::size_t at;
  std::size_t count;
  const Sequence* sequence;
  std::size_t phase;
  const char* name;      // of the buffer as the caller sees it: "recv" or "send"
  std::size_t numbered;  // index of the first element in that buffer
};

// One rank's memory: out of place a send and a receive buffer, in place only `recv`, which is then the whole
// of both.
struct Content {
  std::vector<Piece> send;
  std::vector<Piece> recv;
};

struct Layout {
  Kind kind;
  Placement placement;
  std::size_t count;
  int nranks;
  int root;
};

// The elements that the two buffers need, out of place or in place.
std::size_t sendBufferElements(const Layout& layout);
std::size_t recvBufferElements(const Layout& layout);

// Element of the in-place buffer at which the call's send and recv pointer stand.
std::size_t inPlaceSendAt(const Layout& layout, int rank);
std::size_t inPlaceRecvAt(const Layout& layout, int rank);

Content contentBefore(const Layout& layout, const Pattern& pattern, int rank);
Content contentAfter(const Layout& layout, const Pattern& pattern, int rank);

}  // namespace tutti::bench
