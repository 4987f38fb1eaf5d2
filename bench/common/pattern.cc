// Draws the numbers with a hash of (call, rank, index) and reduces them in a plain loop over whole numbers.
// The bounds of each draw are chosen such that no partial result of any order leaves the exactly
// representable numbers.
#include "pattern.h"

#include "number.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace tutti::bench {
namespace {

std::uint64_t hash(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

std::uint64_t hash(unsigned seed, int rank, std::size_t index) {
  return hash(hash(hash(seed) + static_cast<std::uint64_t>(rank)) + index);
}

// True for at most `most` of the n ranks at each index, and for every rank at some indices.
bool takesPart(int rank, int nranks, std::size_t index, long most) {
  const long stride = (nranks + most - 1) / most;
  return (static_cast<long>(index % kPeriod) + rank) % stride == 0;
}

struct Draw {
  int nranks;
  tuttiDataType_t type;
  tuttiRedOp_t op;
  unsigned seed;
};

// One rank's number at one index: not negative, and such that the result of all ranks is exact.
long magnitude(const Draw& draw, int rank, std::size_t index) {
  // Averages are exact if the sum of all ranks is, in float; 22 bits leave room.
  const long exact = std::min(largestExact(draw.type), std::max(8L, (1L << 22) / draw.nranks));
  const std::uint64_t own = hash(draw.seed, rank, index);
  switch (draw.op) {
    case tuttiSum: {  // the sum of all ranks is at most `exact`
      const long each = std::max(1L, exact / draw.nranks);
      return takesPart(rank, draw.nranks, index, exact)
                 ? static_cast<long>(own % static_cast<unsigned long>(each + 1))
                 : 0;
    }
    case tuttiProd:  // ones, and twos in at most six places: at most 64
      return takesPart(rank, draw.nranks, index, 6) ? 1 + static_cast<long>(own & 1) : 1;
    case tuttiAvg: {  // pairs of neighbours lie as far above and below a common middle
      const long middle = exact / 4 + static_cast<long>(hash(draw.seed, -1, index) %
                                                        static_cast<unsigned long>(exact / 4 + 1));
      if (rank == draw.nranks - 1 && rank % 2 == 0) return middle;
      const long apart =
          static_cast<long>(hash(draw.seed, rank / 2, index) % static_cast<unsigned long>(exact / 4 + 1));
      return rank % 2 == 0 ? middle + apart : middle - apart;
    }
    default:
      return static_cast<long>(own % static_cast<unsigned long>(exact + 1));
  }
}

long input(const Draw& draw, int rank, std::size_t index) {
  const bool negative = !isUnsigned(draw.type) && index % 3 == 1;  // on all ranks alike
  const long value = magnitude(draw, rank, index);
  return negative ? -value : value;
}

// The plain loop that judges the library.
long reduce(const Draw& draw, std::size_t index) {
  long result = input(draw, 0, index);
  for (int rank = 1; rank < draw.nranks; rank++) {
    const long next = input(draw, rank, index);
    switch (draw.op) {
      case tuttiSum:
      case tuttiAvg:
        result += next;
        break;
      case tuttiProd:
        result *= next;
        break;
      case tuttiMax:
        result = std::max(result, next);
        break;
      case tuttiMin:
        result = std::min(result, next);
        break;
      default:
        std::abort();
    }
  }
  return draw.op == tuttiAvg ? result / draw.nranks : result;
}

template <class WriteElement>
Sequence sequence(tuttiDataType_t type, WriteElement writeElement) {
  Sequence made;
  made.elementBytes = bytesOf(type);
  made.bytes.resize(2 * kPeriod * made.elementBytes);
  for (std::size_t i = 0; i < kPeriod; i++) writeElement(i, made.bytes.data() + i * made.elementBytes);
  std::copy_n(made.bytes.begin(), kPeriod * made.elementBytes,
              made.bytes.begin() + kPeriod * made.elementBytes);
  return made;
}

// Bytes that no checked reduction gives: a number out of reach of the draws above. For floats it is an
// ordinary one, not a subnormal, because it may be what the next timed call adds.
Sequence untouchedSequence(tuttiDataType_t type) {
  const unsigned char byte = isFloat(type) ? 0xdb : 0x80;
  return sequence(type,
                  [&](std::size_t, unsigned char* element) { std::fill_n(element, bytesOf(type), byte); });
}

}  // namespace

Pattern reducedPattern(int nranks, tuttiDataType_t type, tuttiRedOp_t op, unsigned seed) {
  const Draw draw{nranks, type, op, seed};
  Pattern pattern;
  for (int rank = 0; rank < nranks; rank++) {
    pattern.inputs.push_back(sequence(
        type, [&](std::size_t i, unsigned char* element) { encode(type, input(draw, rank, i), element); }));
  }
  pattern.reduced =
      sequence(type, [&](std::size_t i, unsigned char* element) { encode(type, reduce(draw, i), element); });
  pattern.untouched = untouchedSequence(type);
  return pattern;
}

Pattern copiedPattern(int nranks, tuttiDataType_t type, unsigned seed) {
  Pattern pattern;
  for (int rank = 0; rank < nranks; rank++) {
    pattern.inputs.push_back(sequence(type, [&](std::size_t i, unsigned char* element) {
      const std::uint64_t bits = hash(seed, rank, i);
      for (std::size_t b = 0; b < bytesOf(type); b++)
        element[b] = static_cast<unsigned char>(bits >> (8 * b));
    }));
  }
  pattern.untouched = untouchedSequence(type);
  return pattern;
}

}  // namespace tutti::bench
