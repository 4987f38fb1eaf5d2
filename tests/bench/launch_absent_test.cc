// A program built without MPI: it refuses under every launcher that has started several of it, in one line that says what
// to do, and runs otherwise.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/launch.h"

namespace tutti::bench {
namespace {

using Variables = std::map<std::string, std::string>;

Launched start(const Variables& variables) {
  return startLaunch(launcherIn([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  }));
}

void refuses(const Variables& variables, const std::string& sign) {
  const Launched launched = start(variables);
  EXPECT_EQ(launched.launch, nullptr) << sign;
  EXPECT_EQ(launched.refusal.find('\n'), std::string::npos) << launched.refusal;
  for (const std::string& part : {"(" + sign + ")", std::string("without MPI"), std::string("-Dmpi=enabled")})
    EXPECT_NE(launched.refusal.find(part), std::string::npos) << launched.refusal;
}

void runs(const Variables& variables) {
  const Launched launched = start(variables);
  ASSERT_NE(launched.launch, nullptr) << launched.refusal;
  EXPECT_EQ(launched.refusal, "");
  EXPECT_EQ(launched.launch->processes(), 1);
  EXPECT_EQ(launched.launch->process(), 0);
}

TEST(LaunchWithoutMpi, RefusesUnderALauncherOfSeveral) {
  refuses({{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}}, "OMPI_COMM_WORLD_SIZE=2");
  refuses({{"PMI_SIZE", "4"}, {"PMI_RANK", "3"}}, "PMI_SIZE=4");
  refuses({{"MV2_COMM_WORLD_SIZE", "2"}, {"MV2_COMM_WORLD_RANK", "1"}}, "MV2_COMM_WORLD_SIZE=2");
  refuses({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "0"}}, "SLURM_NTASKS=8");
  refuses({{"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}},
          "SLURM_STEP_NUM_TASKS=2");
  refuses({{"PMIX_RANK", "0"}}, "PMIX_RANK=0");
}

TEST(LaunchWithoutMpi, RunsAlone) {
  runs({});
  runs({{"SLURM_NTASKS", "8"}});  // the shell of a job
  runs({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}});
  runs({{"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}});
}

}  // namespace
}  // namespace tutti::bench
