// What the library says unasked (base/log.h): a slower way that is taken, with what to do about it, each once in a
// process; and what was found, at init. All of it outside of calls that move data.
#pragma once

#include <string>

#include "api/settings.h"
#include "base/status.h"

namespace tutti {

class Arena;
class Communicator;

// Once each in a process.
enum class Notice {
  machine,
  unknownMachine,
  fewCores,
  noBarriers,
  smallArena,
  smallPages,
  privateMemory,
  unregisteredMemory
};

// A communicator has been made, for a rank of this process. What holds for all ranks is said by rank 0's.
void tellOfCommunicator(const Communicator& communicator);

// The arena is not as large as it should be.
void tellOfArena(const Arena& arena, const Settings& settings);

// tuttiMemAlloc gave memory in small pages; memory that other processes do not see.
void tellOfSmallPages();
void tellOfPrivateMemory(const Status& why);

// tuttiCommRegister could not register.
void tellOfUnregisteredMemory(const Log& log, const std::string& label);

}  // namespace tutti
