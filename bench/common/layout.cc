// The rules of the collectives as lists of pieces: what is in a buffer before a call, what has to be in it
// after. In-place rules stand here and nowhere else.
#include "layout.h"

namespace tutti::bench {
namespace {

std::size_t index(int rank) {
  return static_cast<std::size_t>(rank);
}

// What the receive buffer of a rank holds after the call, numbered from its start.
std::vector<Piece> received(const Layout& layout, const Pattern& pattern, int rank) {
  const std::size_t count = layout.count;
  switch (layout.kind) {
    case Kind::allReduce:
      return {{0, count, &pattern.reduced, 0, "recv", 0}};
    case Kind::broadcast:
      return {{0, count, &pattern.inputs[index(layout.root)], 0, "recv", 0}};
    case Kind::reduce:
      if (rank == layout.root) return {{0, count, &pattern.reduced, 0, "recv", 0}};
      return {{0, count,
               layout.placement == Placement::inPlace ? &pattern.inputs[index(rank)] : &pattern.untouched, 0,
               "recv", 0}};
    case Kind::reduceScatter:
      return {{0, count, &pattern.reduced, index(rank) * count, "recv", 0}};
    case Kind::allGather: {
      std::vector<Piece> blocks;
      for (int from = 0; from < layout.nranks; from++) {
        const std::size_t at = index(from) * count;
        blocks.push_back({at, count, &pattern.inputs[index(from)], 0, "recv", at});
      }
      return blocks;
    }
  }
  return {};
}

}  // namespace

std::size_t sendBufferElements(const Layout& layout) {
  return layout.placement == Placement::inPlace ? 0 : sendElements(layout.kind, layout.count, layout.nranks);
}

std::size_t recvBufferElements(const Layout& layout) {
  return layout.placement == Placement::inPlace ? totalElements(layout.kind, layout.count, layout.nranks)
                                                : recvElements(layout.kind, layout.count, layout.nranks);
}

std::size_t inPlaceSendAt(const Layout& layout, int rank) {
  return layout.kind == Kind::allGather ? index(rank) * layout.count : 0;
}

std::size_t inPlaceRecvAt(const Layout& layout, int rank) {
  return layout.kind == Kind::reduceScatter ? index(rank) * layout.count : 0;
}

Content contentBefore(const Layout& layout, const Pattern& pattern, int rank) {
  const Sequence* input = &pattern.inputs[index(rank)];
  const std::size_t sends = sendElements(layout.kind, layout.count, layout.nranks);
  const std::size_t whole = recvBufferElements(layout);
  if (layout.placement == Placement::outOfPlace) {
    return {{{0, sends, input, 0, "send", 0}}, {{0, whole, &pattern.untouched, 0, "recv", 0}}};
  }
  const std::size_t at = inPlaceSendAt(layout, rank);
  return {{},
          {{0, at, &pattern.untouched, 0, "recv", 0},
           {at, sends, input, 0, "send", 0},
           {at + sends, whole - at - sends, &pattern.untouched, 0, "recv", at + sends}}};
}

Content contentAfter(const Layout& layout, const Pattern& pattern, int rank) {
  Content after{{}, received(layout, pattern, rank)};
  if (layout.placement == Placement::outOfPlace) {
    after.send = contentBefore(layout, pattern, rank).send;  // send buffers are unchanged
    return after;
  }
  if (layout.kind == Kind::reduceScatter) {  // the other blocks of the send buffer are unchanged
    const Sequence* input = &pattern.inputs[index(rank)];
    const std::size_t at = inPlaceRecvAt(layout, rank);
    const std::size_t end = at + layout.count;
    after.recv.front().at = at;
    after.recv.push_back({0, at, input, 0, "send", 0});
    after.recv.push_back({end, recvBufferElements(layout) - end, input, end, "send", end});
  }
  return after;
}

}  // namespace tutti::bench
