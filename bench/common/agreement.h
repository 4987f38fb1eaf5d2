// What processes agree on, so that they go on together or leave together. Built on Launch alone; in one process
// each answer is the question.
#pragma once

#include "launch.h"

#include <tutti/tutti.h>

#include <functional>
#include <optional>
#include <string>

namespace tutti::bench {

struct Failure {
  int rank;
  tuttiResult_t result;
  std::string text;
  double atSeconds = 0;  // of the monotonic clock, which all processes of a host share
};

// What a job answers: nothing when all went well.
using Outcome = std::optional<Failure>;

double monotonicSeconds();

// True if `later` takes the place of `earlier` as what went wrong: a cause goes before a consequence, then the
// earlier one.
bool isNearerToTheCause(const Failure& later, const Failure& earlier);

// Collective: the failure nearest to the cause, alike on all processes. A process that has failed itself waits
// half a minute for the others, then says why and ends all: one of them is stopped or gone.
Outcome agreeOnOutcome(Launch& launch, const Outcome& mine);

// Collective: the first process that wants to leave says why by say(), which returns its exit status; all get
// that status when it has been said. Nothing if nobody wants to leave.
std::optional<int> agreeToLeave(Launch& launch, bool mine, const std::function<int()>& say);

// Collective: the sum over all processes.
long agreeOnSum(Launch& launch, long mine);

// Collective: the first process with another text than process 0.
std::optional<int> firstThatDiffers(Launch& launch, const std::string& text);

}  // namespace tutti::bench
