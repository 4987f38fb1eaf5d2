// Short fixed records are gathered; a text follows only when there is one.
#include "agreement.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <vector>

namespace tutti::bench {
namespace {

constexpr double kAfterFailureSeconds = 30;

template <class T>
std::vector<T> gathered(Launch& launch, const T& mine, const Patience& patience = {}) {
  std::vector<T> all(static_cast<std::size_t>(launch.processes()));
  launch.allGather(&mine, all.data(), sizeof(T), patience);
  return all;
}

// A consequence of some other rank's failure rather than a cause.
bool isConsequence(tuttiResult_t result) {
  return result == tuttiRemoteError || result == tuttiBroken;
}

bool goesBefore(tuttiResult_t left, double leftAt, tuttiResult_t right, double rightAt) {
  if (isConsequence(left) != isConsequence(right)) return !isConsequence(left);
  return leftAt < rightAt;
}

}  // namespace

double monotonicSeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool isNearerToTheCause(const Failure& later, const Failure& earlier) {
  return goesBefore(later.result, later.atSeconds, earlier.result, earlier.atSeconds);
}

Outcome agreeOnOutcome(Launch& launch, const Outcome& mine) {
  if (launch.processes() == 1) return mine;
  struct Record {
    double atSeconds;
    tuttiResult_t result;
    int rank;
    std::size_t textBytes;
    bool failed;
  };
  Record own{};
  Patience patience;
  if (mine) {
    own = {mine->atSeconds, mine->result, mine->rank, mine->text.size(), true};
    patience = {kAfterFailureSeconds, fmt::format("# FAILED rank {}: {}\n", mine->rank, mine->text)};
  }
  const std::vector<Record> all = gathered(launch, own, patience);
  const Record* first = nullptr;
  for (const Record& record : all) {
    if (record.failed &&
        (first == nullptr || goesBefore(record.result, record.atSeconds, first->result, first->atSeconds)))
      first = &record;
  }
  if (first == nullptr) return std::nullopt;
  const int from = static_cast<int>(first - all.data());
  std::string text = from == launch.process() ? mine->text : std::string(first->textBytes, '\0');
  launch.broadcast(text.data(), text.size(), from);
  return Failure{first->rank, first->result, text, first->atSeconds};
}

std::optional<int> agreeToLeave(Launch& launch, bool mine, const std::function<int()>& say) {
  const std::vector<char> all = gathered(launch, static_cast<char>(mine));
  for (int process = 0; process < launch.processes(); process++) {
    if (all[static_cast<std::size_t>(process)] == 0) continue;
    int status = process == launch.process() ? say() : 0;
    launch.broadcast(&status, sizeof(status), process);
    return status;
  }
  return std::nullopt;
}

long agreeOnSum(Launch& launch, long mine) {
  const std::vector<long> all = gathered(launch, mine);
  return std::accumulate(all.begin(), all.end(), 0L);
}

std::optional<int> firstThatDiffers(Launch& launch, const std::string& text) {
  std::uint64_t digest = 0xcbf29ce484222325u;  // FNV-1a
  for (unsigned char byte : text) digest = (digest ^ byte) * 0x100000001b3u;
  const std::vector<std::uint64_t> all = gathered(launch, digest);
  for (std::size_t i = 1; i < all.size(); i++) {
    if (all[i] != all[0]) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace tutti::bench
