// How the emulation tests judge a play: right on every element, nothing left over, no race, and truly
// interleaved; what is not so is reported with the job and its seed.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "job.h"
#include "races.h"

namespace tutti::emulation {

inline Report expectClean(const Job& job, Machine machine, std::uint64_t seed) {
  const std::string context = "seed " + std::to_string(seed) + ": " + describe(job);
  setRaceContext(context.c_str());
  const int races = racesReported();
  const Report report = play(job, machine, seed, *tuttiEmulatedBody());
  EXPECT_EQ(racesReported(), races) << context;
  EXPECT_EQ(report.stall, "") << context;
  for (const std::string& wrong : report.wrong) ADD_FAILURE() << wrong << "\n" << context;
  setRaceContext("");
  return report;
}

}  // namespace tutti::emulation
