// See coverage.h.
#include "coverage.h"

#include <array>

namespace tutti::emulation {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 0x1234567) {}

  std::uint64_t below(std::uint64_t limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ * 0x2545f4914f6cdd1d >> 32) % limit;
  }
  template <class T, std::size_t n>
  T oneOf(const std::array<T, n>& values) {
    return values[below(n)];
  }

 private:
  std::uint64_t state_;
};

constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

// Just below the flag's wrap, below the counter's own, at a fresh start, and anywhere.
constexpr std::array<std::uint64_t, 5> kFirstMessages = {kWrap - 3, kWrap - 1, 0 - std::uint64_t{4}, 0, 41};

// In f32, around the payload of one line and of two.
constexpr std::array<std::uint64_t, 8> kLineCounts = {1, 13, 14, 15, 28, 29, 43, 61};
constexpr std::array<std::uint64_t, 8> kSlotCounts = {1, 2, 3, 5, 8, 13, 21, 34};

std::uint64_t countOf(Dice& dice, int nranks, MailboxFormat format) {
  if (format == MailboxFormat::slots) return dice.oneOf(kSlotCounts);
  // Words have the same counts: full and broken last words in both sizes of elements.
  // Half of the time for messages that are a whole vector, half for those that are a rank's share of it.
  return dice.oneOf(kLineCounts) * (dice.below(2) == 0 ? 1 : static_cast<unsigned>(nranks));
}

Job frameOf(Dice& dice, int nranks, MailboxFormat format, std::uint64_t seed) {
  Job job;
  job.nranks = nranks;
  job.channels = dice.below(4) == 0 ? 2 : 1;
  job.workspace = static_cast<Workspace>(format == MailboxFormat::words ? seed / 4 % 2 : seed % 3);
  job.nthreads =
      job.workspace == Workspace::oneThread ? 1 : 1 + static_cast<int>(dice.below(nranks > 4 ? 3 : 5));
  job.type = dice.below(3) == 0 ? DataType::bf16 : DataType::f32;
  job.links.format = format;
  job.links.nslots = format == MailboxFormat::slots ? 2 + static_cast<std::uint32_t>(dice.below(3)) : 2;
  job.links.slotBytes = 4 * (1 + dice.below(5));
  job.links.firstMessage = dice.oneOf(kFirstMessages);
  return job;
}

}  // namespace

std::vector<Case> coverage(const std::vector<int>& nranks) {
  std::vector<Case> cases;
  for (int collective = 0; collective < kCollectives; ++collective) {
    for (int algorithm = 1; algorithm < kAlgorithms; ++algorithm) {
      for (int n : nranks) {
        for (MailboxFormat format : kFormats) {
          const Case one = {static_cast<Collective>(collective), static_cast<Algorithm>(algorithm), n,
                            format};
          if (!serves(one.algorithm, one.collective, n)) continue;
          Job job;
          job.nranks = n;
          job.workspace = format == MailboxFormat::words ? Workspace::own : Workspace::oneThread;
          job.links.format = format;
          job.calls = {{one.collective, one.algorithm, 1}};
          if (!canTravel(job)) continue;
          cases.push_back(one);
        }
      }
    }
  }
  return cases;
}

std::string nameOf(const Case& one) {
  std::string name = std::string(tutti::nameOf(one.collective)) + '_' + tutti::nameOf(one.algorithm) + '_' +
                     std::to_string(one.nranks) + '_' + nameOf(one.format);
  for (char& letter : name) {
    if (letter == '-') letter = '_';
  }
  return name;
}

Job jobOf(const Case& one, std::uint64_t seed) {
  Dice dice(seed);
  Job job = frameOf(dice, one.nranks, one.format, seed);
  for (int i = 0; i < 3; ++i) {
    Call call = {one.collective, one.algorithm, countOf(dice, one.nranks, one.format), i == 1,
                 static_cast<int>(dice.below(static_cast<unsigned>(one.nranks)))};
    if (one.collective == Collective::barrier || i == static_cast<int>(dice.below(5))) call.count = 0;
    job.calls.push_back(call);
  }
  // As lines, blocks of several threads want messages of one element size.
  if (!canTravel(job)) job.type = DataType::f32;
  return job;
}

Job mixtureOf(int nranks, MailboxFormat format, std::uint64_t seed) {
  Dice dice(seed);
  Job job = frameOf(dice, nranks, format, seed);
  if (format == MailboxFormat::lines) job.type = DataType::f32;
  const std::vector<Case> cases = coverage({nranks});
  while (job.calls.size() < 6) {
    const Case& one = cases[dice.below(cases.size())];
    if (one.format != format) continue;
    job.calls.push_back({one.collective, one.algorithm,
                         one.collective == Collective::barrier ? 0 : countOf(dice, nranks, format),
                         dice.below(2) == 0, static_cast<int>(dice.below(static_cast<unsigned>(nranks)))});
  }
  return job;
}

}  // namespace tutti::emulation
