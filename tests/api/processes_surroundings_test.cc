// Ranks in surroundings that nobody would choose: each process in namespaces of its own, as in containers, with a
// /dev/shm of a megabyte, without /dev, without /proc and /sys, with 64 descriptors, as users of their own. Everything works
// there, and a death is named. Only another network namespace is another host.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/communicators.h"
#include "tests/support/processes.h"
#include "tests/support/surroundings.h"

#ifdef __SANITIZE_ADDRESS__
// Leak sanitizer looks for a process's threads in /proc, which has other numbers than a namespace of pids.
extern "C" [[gnu::visibility("default")]] int __lsan_is_turned_off() {
  return 1;
}
#endif

namespace tutti {
namespace {

constexpr int kVictim = 1;

// Who is not root may have namespaces in one of users only.
const int kForAll = geteuid() == 0 ? 0 : CLONE_NEWUSER;
const int kContainer = kForAll | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNS;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

float elementOf(int rank, std::size_t i) {
  return static_cast<float>((rank + 1) * static_cast<int>(i % 7));
}

// One all-reduce from `in` to `out`, with all values compared.
std::string reduce(tuttiComm_t comm, int rank, int nranks, std::size_t count, float* in, float* out) {
  for (std::size_t i = 0; i < count; ++i) in[i] = elementOf(rank, i);
  if (tuttiAllReduce(in, out, count, tuttiFloat32, tuttiSum, comm, nullptr) != tuttiSuccess)
    return tuttiGetLastError(comm);
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (int other = 0; other < nranks; ++other) sum += elementOf(other, i);
    if (out[i] != sum) return "element " + std::to_string(i) + " of " + std::to_string(count) + " is wrong";
  }
  return "";
}

std::string reduceRegistered(tuttiComm_t comm, int rank, int nranks, std::size_t count) {
  void* memory = nullptr;
  void* handle = nullptr;
  if (tuttiMemAlloc(&memory, 2 * count * sizeof(float), TUTTI_DEVICE_HOST) != tuttiSuccess ||
      tuttiCommRegister(comm, memory, 2 * count * sizeof(float), &handle) != tuttiSuccess)
    return tuttiGetLastError(nullptr);
  float* const in = static_cast<float*>(memory);
  std::string wrong = reduce(comm, rank, nranks, count, in, in + count);
  if (wrong.empty() && std::string(lastPlanOf(comm).protocol) != "window") wrong = "not by windows";
  if (tuttiCommDeregister(comm, handle) != tuttiSuccess || tuttiMemFree(memory) != tuttiSuccess)
    return tuttiGetLastError(nullptr);
  return wrong;
}

std::string reduceAll(tuttiComm_t comm, int rank, int nranks) {
  for (const std::size_t count : {1, 1000, 300'000}) {
    std::vector<float> in(count), out(count);
    const std::string wrong = reduce(comm, rank, nranks, count, in.data(), out.data());
    if (!wrong.empty()) return wrong;
  }
  return reduceRegistered(comm, rank, nranks, 300'000);
}

// All calls, then one process is killed in the middle of further ones.
void worksAndNamesADeath(int nranks, const Processes::Enter& enter) {
  Processes processes(
      nranks,
      [&](int rank, const tuttiUniqueId& id) -> std::string {
        return onCommunicator(nranks, rank, id, configOf(), [&](tuttiComm_t comm) -> std::string {
          const std::string wrong = reduceAll(comm, rank, nranks);
          if (!wrong.empty()) return wrong;
          Processes::tell();
          const std::string text = untilItFails(comm, 1000);
          return has(text, "rank " + std::to_string(kVictim) + " is gone") ? "" : text;
        });
      },
      enter);
  for (int rank = 0; rank < nranks; ++rank) {
    if (!processes.hear()) break;
  }
  processes.signal(kVictim, SIGKILL);
  const auto ends = processes.waitForAll();
  for (int rank = 0; rank < nranks; ++rank) {
    const ProcessEnd& end = ends[static_cast<std::size_t>(rank)];
    EXPECT_EQ(end.text, "") << "rank " << rank;
    EXPECT_EQ(end.status, rank == kVictim ? SIGKILL : 0) << "rank " << rank;
  }
}

struct Place {
  std::string name;
  int nranks;
  Surroundings surroundings;
};

void PrintTo(const Place& place, std::ostream* stream) {
  *stream << place.name;
}

const Surroundings::Tmpfs kTinySharedMemory{"/dev/shm", "size=1m"};

class InAPlace : public testing::TestWithParam<Place> {};

TEST_P(InAPlace, RanksWorkAndDie) {
  const Place& place = GetParam();
  const std::string refusal = refusalOf(place.surroundings);
  if (!refusal.empty()) GTEST_SKIP() << "this machine refuses " << place.name << ": " << refusal;
  worksAndNamesADeath(place.nranks, [&](int) { return enter(place.surroundings); });
}

INSTANTIATE_TEST_SUITE_P(
    , InAPlace,
    testing::Values(Place{"Containers", 3, {kContainer, {kTinySharedMemory}}},
                    Place{"ContainersWithUsers", 3, {kContainer | CLONE_NEWUSER, {kTinySharedMemory}}},
                    Place{"NoDev", 3, {kContainer, {{"/dev", "size=1m"}}}},
                    Place{"NoProcNorSys", 2, {kContainer, {{"/proc", "size=1m"}, {"/sys", "size=1m"}}}},
                    Place{"FewDescriptors", 8, {0, {}, 64}}),
    [](const auto& place) { return place.param.name; });

TEST(Users, OfAllKindsWorkAndDie) {
  const auto surroundingsOf = [](int rank) {
    return Surroundings{0, {}, 0, 20'001 + static_cast<uid_t>(rank)};
  };
  const std::string refusal = refusalOf(surroundingsOf(0));
  if (!refusal.empty()) GTEST_SKIP() << "not root, who alone becomes another user: " << refusal;
  worksAndNamesADeath(3, [&](int rank) { return enter(surroundingsOf(rank)); });
}

TEST(AnotherNetworkNamespace, IsAnotherHost) {
  const Surroundings surroundings{kForAll | CLONE_NEWNET};
  const std::string refusal = refusalOf(surroundings);
  if (!refusal.empty()) GTEST_SKIP() << "this machine refuses network namespaces: " << refusal;
  constexpr auto kDeadline = std::chrono::milliseconds(1500);
  Processes processes(
      2,
      [&](int rank, const tuttiUniqueId& id) -> std::string {
        tuttiConfig_t config = configOf();
        config.initTimeoutMs = kDeadline.count();
        const auto begin = std::chrono::steady_clock::now();
        tuttiComm_t comm = nullptr;
        if (tuttiCommInitRankConfig(&comm, 2, id, rank, &config) == tuttiSuccess) return "they met";
        if (std::chrono::steady_clock::now() - begin > kDeadline + std::chrono::seconds(20)) return "late";
        return tuttiGetLastError(nullptr);
      },
      [&](int rank) { return rank == 1 ? enter(surroundings) : ""; });
  const std::string inside = processes.wait(1).text;
  EXPECT_TRUE(has(inside, "another network namespace")) << inside;
  const std::string outside = processes.wait(0).text;
  EXPECT_TRUE(has(outside, "rank 1") && has(outside, "1500 ms")) << outside;
}

}  // namespace
}  // namespace tutti
