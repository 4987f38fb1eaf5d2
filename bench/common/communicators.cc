// Every rank joins on its own thread, because joining waits for all.
#include "communicators.h"

#include <cstdlib>
#include <vector>

namespace tutti::bench {
namespace {

Outcome inOneProcess(Ranks& ranks, const tuttiConfig_t& config) {
  std::vector<tuttiComm_t> comms(static_cast<std::size_t>(ranks.count()));
  const tuttiResult_t result = tuttiCommInitAllConfig(comms.data(), ranks.count(), nullptr, &config);
  if (result != tuttiSuccess) return outcomeOf(result, 0, "tuttiCommInitAllConfig", nullptr);
  for (int rank = 0; rank < ranks.count(); rank++) ranks.setComm(rank, comms[ranks.at(rank)]);
  return std::nullopt;
}

Outcome overProcesses(Ranks& ranks, const tuttiConfig_t& config) {
  Launch& launch = ranks.launch();
  tuttiUniqueId id{};
  Outcome noId;
  if (launch.process() == 0) noId = outcomeOf(tuttiGetUniqueId(&id), 0, "tuttiGetUniqueId", nullptr);
  if (Outcome failed = agreeOnOutcome(launch, noId)) return failed;
  launch.broadcast(&id, sizeof(id), 0);
  return ranks.run([&](int rank) -> Outcome {
    tuttiComm_t comm = nullptr;
    const tuttiResult_t result = tuttiCommInitRankConfig(&comm, ranks.count(), id, rank, &config);
    ranks.setComm(rank, comm);
    return outcomeOf(result, rank, "tuttiCommInitRankConfig", nullptr);
  });
}

}  // namespace

Outcome makeCommunicators(Ranks& ranks, const Options& options) {
  tuttiConfig_t config = TUTTI_CONFIG_INIT;
  if (options.timeoutSeconds > 0) config.timeoutMs = options.timeoutSeconds * 1000;
  // Not in the config: there the variable as the user wrote it would come before it.
  setenv("TUTTI_ALGO", options.algorithm.c_str(), 1);
  return ranks.launch().processes() == 1 ? inOneProcess(ranks, config) : overProcesses(ranks, config);
}

}  // namespace tutti::bench
