// The seqlock. Every access is a release store or an acquire load: no fences, which thread sanitizer does not
// model.
#include "runtime/board.h"

namespace tutti {

void Board::leave() {
  storeRelease(&left_, 1);
}

std::uint64_t Board::calls() const {
  return loadAcquire(&calls_);
}

std::uint64_t Board::finished() const {
  return loadAcquire(&finished_);
}

bool Board::hasLeft() const {
  return loadAcquire(&left_) != 0;
}

std::optional<CallDescriptor> Board::read(std::uint64_t sequence) const {
  const Line& line = lines_[sequence % kLines];
  // A line is being written for a few stores; one that stays so belongs to a rank that died or stands still in them, and
  // says nothing.
  for (int tries = 0; tries < 1'000'000; ++tries) {
    const std::uint64_t number = loadAcquire(&line.number);
    if (number == kBeingWritten) continue;
    if (number != sequence + 1) return std::nullopt;
    CallDescriptor call;
    call.count = loadAcquire(&line.count);
    const std::uint64_t packed = loadAcquire(&line.kind);
    call.registrations = static_cast<std::uint32_t>(loadAcquire(&line.registrations));
    if (loadAcquire(&line.number) != number) continue;
    // No rank writes such a line; a stray write of a broken process may.
    if ((packed & 0xff) >= kCollectives || (packed >> 8 & 0xff) >= kDataTypes ||
        (packed >> 16 & 0xff) >= kOperations)
      return std::nullopt;
    call.sequence = sequence;
    call.collective = static_cast<Collective>(packed & 0xff);
    call.type = static_cast<DataType>(packed >> 8 & 0xff);
    call.operation = static_cast<Operation>(packed >> 16 & 0xff);
    call.root = static_cast<std::int32_t>(packed >> 32);
    return call;
  }
  return std::nullopt;
}

}  // namespace tutti
