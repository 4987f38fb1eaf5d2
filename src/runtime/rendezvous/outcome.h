// Whether a meeting has come about: decided once, by whoever is first, and known to all who hold it, also when the one who
// has decided is gone. It is an empty file in memory, and its seals are the decision: the kernel adds several in one
// step, and none after F_SEAL_SEAL.
#pragma once

#include "base/file_descriptor.h"
#include "base/status.h"

namespace tutti {

enum class Outcome { met, failed };

// Of a new meeting: not decided.
Result<FileDescriptor> makeOutcome();

// Decides, unless it has been decided; what the decision is. Of a descriptor that is no outcome: failed.
Outcome decide(const FileDescriptor& outcome, Outcome wanted) noexcept;

}  // namespace tutti
