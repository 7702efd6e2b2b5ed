#include "env/processes.h"

#include <fmt/format.h>

namespace orrery::env {

std::string to_string(const ProcessExit& exit) {
  if (exit.signal != 0) return fmt::format("killed by signal {}", exit.signal);
  return fmt::format("exit code {}", exit.code);
}

}  // namespace orrery::env
