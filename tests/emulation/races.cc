// See races.h: the sanitizer calls a function of this name, if the program has one, for each report that it
// prints.
#include "races.h"

#include <atomic>
#include <cstdio>

namespace tutti::emulation {
namespace {

std::atomic<int> races{0};
const char* context = "";

}  // namespace

int racesReported() {
  return races.load(std::memory_order_relaxed);
}

void setRaceContext(const char* text) {
  context = text;
}

}  // namespace tutti::emulation

extern "C" __attribute__((visibility("default"), no_sanitize("thread"))) void __tsan_on_report(void*) {
  std::fprintf(stderr, "in %s\n", tutti::emulation::context);
  tutti::emulation::races.fetch_add(1, std::memory_order_relaxed);
}
