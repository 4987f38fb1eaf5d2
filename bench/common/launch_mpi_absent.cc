// In a build without MPI: a program that a launcher has started several times says so, instead of running as
// often by itself.
#include "launch.h"

#include <fmt/format.h>

namespace tutti::bench {

Launched joinMpi(const Launcher& launcher) {
  return {nullptr,
          fmt::format("started by {} ({}), but this program is built without MPI: install one (Debian: "
                      "libopenmpi-dev) and build tutti again with -Dmpi=enabled, or start the program "
                      "by itself and give the ranks as threads (-t)",
                      launcher.name, launcher.sign)};
}

}  // namespace tutti::bench
