// What the operating system refused, in words: the call, its reason, and what to do about it.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tutti {

// What helps against `error`, an errno, of the system call of that name.
std::string remedyFor(std::string_view call, int error);

// systemError: "WHAT: CALL failed: REASON. REMEDY".
Status refused(std::string_view what, std::string_view call, int error);

}  // namespace tutti
