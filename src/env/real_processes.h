#pragma once
// Processes of the machine (posix_spawn, pidfd). Stateless and thread-safe.

#include "env/processes.h"

namespace orrery::env {

class RealProcesses final : public Processes {
 public:
  Result<std::unique_ptr<Process>> spawn(const ProcessSpec& spec) override;
};

}  // namespace orrery::env
