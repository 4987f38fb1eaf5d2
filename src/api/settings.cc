// Each field, its variable, its bounds and its refusal.
#include "api/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace tutti {
namespace {

class Reader {
 public:
  using Environment = const char* (*)(const char* name);
  Reader(const tuttiConfig_t& config, Environment environment) : config_(config), environment_(environment) {}

  Result<Settings> read() {
    Settings settings;
    TUTTI_TRY(milliseconds("timeoutMs", "TUTTI_TIMEOUT_MS", config_.timeoutMs, settings.timeout));
    TUTTI_TRY(
        milliseconds("initTimeoutMs", "TUTTI_INIT_TIMEOUT_MS", config_.initTimeoutMs, settings.initTimeout));
    TUTTI_TRY(choice("logLevel", "TUTTI_LOG", config_.logLevel, {"none", "error", "warning", "info", "debug"},
                     settings.logLevel));
    int reproducible = 0;
    TUTTI_TRY(choice("reproducible", "TUTTI_REPRODUCIBLE", config_.reproducible, {"0", "1"}, reproducible));
    if (reproducible != 0) return notBuilt("reproducible 1 (TUTTI_REPRODUCIBLE)");
    TUTTI_TRY(choice("wire", "TUTTI_WIRE", config_.wire, {"auto", "narrow", "wide"}, settings.wire));
    int blocking = 1;
    TUTTI_TRY(choice("blocking", nullptr, config_.blocking, {"0", "1"}, blocking));
    if (blocking == 0) return notBuilt("blocking 0");
    if (config_.device != TUTTI_UNSET && config_.device != TUTTI_DEVICE_HOST) {
      if (config_.device < 0)
        return refuse("device", std::to_string(config_.device), "TUTTI_DEVICE_HOST (-1) or a CUDA ordinal");
      return notBuilt(fmt::format("device {}", config_.device));
    }
    TUTTI_TRY(
        bytes("memoryBudgetBytes", "TUTTI_MEMORY_BUDGET", config_.memoryBudgetBytes, settings.memoryBudget));
    auto forced = ForcedAlgorithms::parse(text("TUTTI_ALGO", config_.algorithm));
    if (!forced.isOk()) return forced.status();
    settings.forced = forced.value();
    settings.algorithm = text("TUTTI_ALGO", config_.algorithm);
    if (config_.name != nullptr) {
      settings.name = config_.name;
      if (settings.name.size() > 63) return refuse("name", settings.name, "at most 63 bytes");
    }
    settings.logCallback = config_.logCallback;
    settings.logContext = config_.logContext;
    return settings;
  }

 private:
  static Status refuse(std::string_view field, std::string_view value, std::string_view wanted) {
    return Status(Code::invalidArgument, fmt::format("{} is '{}'; wanted: {}", field, value, wanted));
  }
  static Status notBuilt(std::string_view what) {
    return Status(Code::notSupported, fmt::format("{} is not built yet: leave it unset", what));
  }

  const char* variable(const char* name) const {
    const char* value = name == nullptr ? nullptr : environment_(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
  }

  std::string_view text(const char* variableName, const char* field) const {
    if (const char* value = variable(variableName)) return value;
    return field == nullptr ? std::string_view() : field;
  }

  Status milliseconds(const char* field, const char* variableName, std::int64_t value,
                      std::chrono::milliseconds& out) {
    constexpr std::int64_t kMost = 365LL * 24 * 3600 * 1000;  // a year: beyond, clocks would overflow
    constexpr const char* kWanted = "milliseconds from 1 to 31536000000 (a year)";
    if (const char* text = variable(variableName)) {
      const auto parsed = std::from_chars(text, text + std::strlen(text), value);
      if (parsed.ec != std::errc() || *parsed.ptr != '\0' || value < 1 || value > kMost)
        return refuse(variableName, text, kWanted);
    } else if (value == TUTTI_UNSET_MS) {
      return Status();
    } else if (value < 1 || value > kMost) {
      return refuse(field, std::to_string(value), kWanted);
    }
    out = std::chrono::milliseconds(value);
    return Status();
  }

  Status choice(const char* field, const char* variableName, int value,
                std::initializer_list<const char*> names, int& out) {
    std::string wanted;
    for (const char* name : names) wanted += (wanted.empty() ? "" : ", ") + std::string(name);
    if (const char* text = variable(variableName)) {
      const auto found = std::find_if(names.begin(), names.end(),
                                      [text](const char* name) { return std::strcmp(name, text) == 0; });
      if (found == names.end()) return refuse(variableName, text, wanted);
      out = static_cast<int>(found - names.begin());
      return Status();
    }
    if (value == TUTTI_UNSET) return Status();
    if (value < 0 || value >= static_cast<int>(names.size()))
      return refuse(field, std::to_string(value), fmt::format("0 to {} ({})", names.size() - 1, wanted));
    out = value;
    return Status();
  }

  Status bytes(const char* field, const char* variableName, std::size_t value, std::uint64_t& out) {
    if (const char* text = variable(variableName)) {
      std::uint64_t number = 0;
      const auto parsed = std::from_chars(text, text + std::strlen(text), number);
      std::string_view unit(parsed.ptr);
      int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
      if (parsed.ec != std::errc() || (shift == 0 && !unit.empty()) || (number << shift) >> shift != number)
        return refuse(variableName, text, "bytes, such as 64M");
      value = number << shift;
    } else if (value == TUTTI_UNSET_BYTES) {
      return Status();
    }
    if (value != 0) out = value;
    static_cast<void>(field);
    return Status();
  }

  const tuttiConfig_t& config_;
  const Environment environment_;
};

}  // namespace

Result<Settings> readSettings(const tuttiConfig_t* config, const char* (*environment)(const char* name)) {
  const tuttiConfig_t unset = TUTTI_CONFIG_INIT;
  if (config == nullptr) return Reader(unset, environment).read();
  if (config->magic != TUTTI_CONFIG_MAGIC || config->size < offsetof(tuttiConfig_t, blocking) ||
      config->version == 0)
    return Status(Code::invalidArgument, "config was not set by TUTTI_CONFIG_INIT");
  // Fields that only one of program and library knows stay unset.
  tuttiConfig_t known = TUTTI_CONFIG_INIT;
  std::memcpy(&known, config, std::min(config->size, sizeof(known)));
  return Reader(known, environment).read();
}

}  // namespace tutti
