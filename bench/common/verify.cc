// Walks over pieces in runs of at most one period: whole runs are compared at once, and only a run that
// differs is looked at element by element.
#include "verify.h"

#include "number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tutti::bench {
namespace {

constexpr std::size_t kExamples = 8;

// Calls use(element offset in the piece, elements, bytes they shall have) for runs of at most one period.
template <class Use>
void forEachRun(const Piece& piece, Use use) {
  for (std::size_t done = 0; done < piece.count;) {
    const std::size_t run = std::min(kPeriod, piece.count - done);
    use(done, run, piece.sequence->at(piece.phase + done));
    done += run;
  }
}

void note(WrongElements* wrong, const Piece& piece, std::size_t offset, tuttiDataType_t type,
          const unsigned char* got, const unsigned char* want) {
  const std::size_t index = piece.numbered + offset;
  wrong->first = wrong->count == 0 ? index : std::min(wrong->first, index);
  wrong->last = std::max(wrong->last, index);
  wrong->count++;
  if (wrong->examples.size() < kExamples) {
    wrong->examples.push_back({piece.name, index, describe(type, got), describe(type, want)});
  }
}

}  // namespace

void fill(Buffer& buffer, tuttiDataType_t type, const std::vector<Piece>& pieces) {
  const std::size_t bytes = bytesOf(type);
  std::size_t end = 0;
  for (const Piece& piece : pieces) {
    forEachRun(piece, [&](std::size_t offset, std::size_t run, const unsigned char* source) {
      std::memcpy(buffer.data() + (piece.at + offset) * bytes, source, run * bytes);
    });
    end = std::max(end, piece.at + piece.count);
  }
  buffer.setGuards(end * bytes);
}

void check(const Buffer& buffer, tuttiDataType_t type, const std::vector<Piece>& pieces, std::size_t elements,
           WrongElements* wrong) {
  const std::size_t bytes = bytesOf(type);
  for (const Piece& piece : pieces) {
    forEachRun(piece, [&](std::size_t offset, std::size_t run, const unsigned char* want) {
      const unsigned char* got = buffer.data() + (piece.at + offset) * bytes;
      if (std::memcmp(got, want, run * bytes) == 0) return;
      for (std::size_t i = 0; i < run; i++) {
        if (std::memcmp(got + i * bytes, want + i * bytes, bytes) != 0) {
          note(wrong, piece, offset + i, type, got + i * bytes, want + i * bytes);
        }
      }
    });
  }
  wrong->guardBytes += buffer.damagedGuardBytes(elements * bytes);
}

std::string describe(const WrongElements& wrong, int rank, const std::string& row) {
  std::string text;
  for (const WrongElement& element : wrong.examples) {
    text += fmt::format("# WRONG {}: rank {} {}[{}]: got {}, want {}\n", row, rank, element.buffer,
                        element.index, element.got, element.want);
  }
  if (wrong.count > 0) {
    text += fmt::format("# WRONG {}: rank {}: {} wrong, indices {} to {}\n", row, rank, wrong.count,
                        wrong.first, wrong.last);
  }
  if (wrong.guardBytes > 0) {
    text += fmt::format("# WRONG {}: rank {}: {} bytes outside the buffers were written\n", row, rank,
                        wrong.guardBytes);
  }
  return text;
}

}  // namespace tutti::bench
