// What a communicator was told: the fields of tuttiConfig_t with the environment's last word, checked and
// read once.
#pragma once

#include <chrono>
#include <string>

#include "base/log.h"
#include "base/status.h"
#include "collectives/choose.h"
#include "tutti/tutti.h"

namespace tutti {

struct Settings {
  std::chrono::milliseconds timeout{30 * 60 * 1000};
  std::chrono::milliseconds initTimeout{120 * 1000};
  ForcedAlgorithms forced;
  std::string algorithm;  // the same, as it was written
  int wire = tuttiWireAuto;
  std::string name;
  std::uint64_t memoryBudget = ~std::uint64_t{0};
  int logLevel = tuttiLogWarning;
  tuttiLogCallback_t logCallback = nullptr;
  void* logContext = nullptr;

  Log log() const { return Log(static_cast<LogLevel>(logLevel), logCallback, logContext); }
};

// `config` may be null. `environment` looks a variable up as getenv does.
Result<Settings> readSettings(const tuttiConfig_t* config, const char* (*environment)(const char* name));

}  // namespace tutti
