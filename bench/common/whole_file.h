// A file that a reader finds whole or not at all: it is written beside its place under another name and then
// renamed. What is no regular file (a pipe, a device) is written where it is.
#pragma once

#include <string>

namespace tutti::bench {

// Empty when writeWhole has a way to write there, else why not. Leaves nothing behind.
std::string whyNotWritable(const std::string& path);

// Empty when written, else why not; an older file is then as it was.
std::string writeWhole(const std::string& path, const std::string& text);

}  // namespace tutti::bench
