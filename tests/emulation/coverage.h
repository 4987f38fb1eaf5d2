// What the emulation tests run: every collective by every algorithm that serves it, in every format that can
// carry it, for several numbers of ranks; everything else about a job follows from its seed.
#pragma once

#include <string>
#include <vector>

#include "job.h"

namespace tutti::emulation {

struct Case {
  Collective collective;
  Algorithm algorithm;
  int nranks;
  MailboxFormat format;
};

inline constexpr MailboxFormat kFormats[] = {MailboxFormat::slots, MailboxFormat::lines,
                                             MailboxFormat::words};

std::vector<Case> coverage(const std::vector<int>& nranks);

// A word for each, fit for a test's name.
std::string nameOf(const Case& one);

// Three calls, one of them in place and one of them without elements.
Job jobOf(const Case& one, std::uint64_t seed);

// Calls of different algorithms one after another on the same links.
Job mixtureOf(int nranks, MailboxFormat format, std::uint64_t seed);

}  // namespace tutti::emulation
