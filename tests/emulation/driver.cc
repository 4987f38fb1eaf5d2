// Plays a fixed set of jobs and seeds with the step body of a shared object and says what went wrong, one
// line each:
//
//   data|race|stall JOB SEED text
//
// mutate.py runs it with mutants of the step body. Exit status 1 if there was any such line.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "job.h"
#include "jobs.h"
#include "races.h"

namespace tutti::emulation {
namespace {

const Body* loadBody(const char* path) {
  void* object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (object == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return nullptr;
  }
  const auto body = reinterpret_cast<decltype(&tuttiEmulatedBody)>(dlsym(object, "tuttiEmulatedBody"));
  return body == nullptr ? nullptr : body();
}

int run(const Body& body, std::uint64_t nseeds, const char* only, bool verbose) {
  bool found[3] = {};
  std::uint64_t plays = 0;
  for (const NamedJob& named : mutationJobs()) {
    if (only != nullptr && named.name != only) continue;
    if (!canTravel(named.job)) {
      std::fprintf(stderr, "%s is no job for its format\n", named.name.c_str());
      return 2;
    }
    for (std::uint64_t seed = 0; seed < nseeds; ++seed) {
      const std::string context = fmt::format("{} seed {}", named.name, seed);
      setRaceContext(context.c_str());
      const int races = racesReported();
      const Report report = play(named.job, playOnFibers, seed, body);
      ++plays;
      const bool caught[3] = {!report.wrong.empty(), racesReported() != races, !report.stall.empty()};
      const std::string texts[3] = {report.wrong.empty() ? "" : report.wrong[0], "thread sanitizer",
                                    report.stall};
      constexpr const char* kinds[3] = {"data", "race", "stall"};
      for (int kind = 0; kind < 3; ++kind) {
        if (!caught[kind] || (found[kind] && !verbose)) continue;
        std::printf("%s %s %llu %s\n", kinds[kind], named.name.c_str(), static_cast<unsigned long long>(seed),
                    texts[kind].c_str());
        std::fflush(stdout);
        found[kind] = true;
      }
    }
    setRaceContext("");
  }
  std::printf("plays %llu\n", static_cast<unsigned long long>(plays));
  return found[0] || found[1] || found[2] ? 1 : 0;
}

}  // namespace
}  // namespace tutti::emulation

// BODY SEEDS [JOB]: with a job, every seed's faults of that job alone.
int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s BODY SEEDS [JOB]\n", argv[0]);
    return 2;
  }
  const tutti::emulation::Body* body = tutti::emulation::loadBody(argv[1]);
  if (body == nullptr) return 2;
  return tutti::emulation::run(*body, std::strtoull(argv[2], nullptr, 10), argc > 3 ? argv[3] : nullptr,
                               argc > 3);
}
