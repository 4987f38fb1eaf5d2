// What a rank tells the others when it joins: who it is, where the state lies that they are to share, and the
// settings that have to be the same on all ranks.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/settings.h"
#include "base/status.h"

namespace tutti {

// Of this library: "0.1.0".
std::string libraryVersion();

struct Introduction {
  // First in what is sent, in every version, so that two versions can say that they differ. All the rest is empty in
  // what another version has sent.
  std::string version = libraryVersion();
  std::string process;  // the token of its process: equal for the ranks of one
  int pid = 0;
  std::uint64_t stateAt = 0;  // rank 0: the offset of the state in its process's arena
  std::string algorithm;      // rank 0's counts
  std::vector<std::pair<std::string, std::string>> same;  // setting, value

  std::string pack() const;
  // remoteError for bytes that no rank of any version can have sent.
  static Result<Introduction> unpack(const std::string& bytes);
};

// The settings of a rank that has read its own.
std::vector<std::pair<std::string, std::string>> sameOnAllRanks(const Settings& settings);

// invalidArgument if ranks differ: the version or the setting, and who has which value.
Status compareSettings(const std::vector<Introduction>& ranks);

}  // namespace tutti
