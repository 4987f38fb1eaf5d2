// Messages to whoever runs a program: a line each on standard error, or a call of the program's own function. They
// tell of slower ways and of what was found; failures are answers and not messages. Never in a call that moves data.
#pragma once

#include <string>

namespace tutti {

// The numbers are tuttiLogLevel_t's.
enum class LogLevel : int { none = 0, error = 1, warning = 2, info = 3, debug = 4 };

class Log {
 public:
  // `text` ends with no newline and is valid during the call.
  using Callback = void (*)(void* context, int level, const char* text);

  // Says what is of the level `most` or more urgent. `callback` null: on standard error.
  explicit Log(LogLevel most, Callback callback = nullptr, void* context = nullptr)
      : most_(most), callback_(callback), context_(context) {}

  bool says(LogLevel level) const { return level <= most_; }
  // Any thread; a thread that is being cancelled ends afterwards.
  void write(LogLevel level, std::string text) const;

 private:
  LogLevel most_;
  Callback callback_;
  void* context_;
};

}  // namespace tutti
