// How many races thread sanitizer has reported so far; 0 in programs that run without it.
#pragma once

namespace tutti::emulation {

int racesReported();

// What is written to stderr before each report, so that the report names its seed.
void setRaceContext(const char* text);

}  // namespace tutti::emulation
