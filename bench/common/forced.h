// Which algorithms a run forces. To the library a bare name in TUTTI_ALGO means every collective, barriers
// included; a program measures one and lines its ranks up by barriers, so here it means the measured one.
#pragma once

#include "collective.h"

#include <string>
#include <string_view>

namespace tutti::bench {

// "ring" becomes "allreduce=ring"; what names its collective stays as it is. Checking names is the library's.
std::string forcedAlgorithms(Kind kind, std::string_view text);

}  // namespace tutti::bench
