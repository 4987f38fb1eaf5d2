// bench/common/launcher: what each launcher's environment says.
#include "common/launcher.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace tutti::bench {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Launcher> in(const Variables& variables) {
  return launcherIn([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

void says(const Variables& variables, int process, int processes, const std::string& sign) {
  const auto launcher = in(variables);
  ASSERT_TRUE(launcher) << sign;
  EXPECT_EQ(launcher->process, process) << sign;
  EXPECT_EQ(launcher->processes, processes) << sign;
  EXPECT_EQ(launcher->sign, sign);
}

TEST(Launcher, EachOneSaysHowManyItHasStarted) {
  says({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_RANK", "3"}}, 3, 4,
       "OMPI_COMM_WORLD_SIZE=4");
  says({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}, 1, 2, "PMI_SIZE=2");
  says({{"MV2_COMM_WORLD_SIZE", "2"}, {"MV2_COMM_WORLD_RANK", "0"}}, 0, 2, "MV2_COMM_WORLD_SIZE=2");
  says({{"SLURM_NTASKS", "8"}, {"SLURM_PROCID", "7"}}, 7, 8, "SLURM_NTASKS=8");
  says({{"PMIX_RANK", "1"}}, 1, 0, "PMIX_RANK=1");
}

TEST(Launcher, AStepOfSlurmCountsBeforeItsJob) {
  says({{"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}}, 1, 2,
       "SLURM_STEP_NUM_TASKS=2");
}

TEST(Launcher, MpirunInAJobOfSlurmIsTheLauncher) {
  says({{"SLURM_NTASKS", "1"},
        {"SLURM_PROCID", "0"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"OMPI_COMM_WORLD_RANK", "2"}},
       2, 4, "OMPI_COMM_WORLD_SIZE=4");
}

TEST(Launcher, NobodyIsNoLauncher) {
  EXPECT_FALSE(in({}));
  EXPECT_FALSE(in({{"SLURM_NTASKS", "8"}})) << "the shell of a job, not a task";
  EXPECT_FALSE(in({{"PMI_SIZE", ""}, {"OMPI_COMM_WORLD_SIZE", "many"}, {"PMIX_RANK", "-2"}}));
}

}  // namespace
}  // namespace tutti::bench
