// What a program says: results on standard output, which must arrive, and complaints on standard error.
#pragma once

#include <exception>
#include <string>

namespace tutti::bench {

// Writes at once. Empty when written, else why not.
std::string print(const std::string& text);

// Loses what cannot be written: there is nowhere left to say so.
void complain(const std::string& text);

// For whoever catches: what happened, and what to do about it where that is known. Needs no memory; valid as
// long as the exception.
const char* wordsFor(const std::exception& error);

}  // namespace tutti::bench
