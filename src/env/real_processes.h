#pragma once
// Processes of the machine (posix_spawn, pidfd). Stateless and thread-safe.

#include "env/processes.h"

namespace orrery::env {

class RealProcesses final : public Processes {
 public:
  Result<std::unique_ptr<Process>> spawn(const ProcessSpec& spec) override;
  Result<std::unique_ptr<EndRequests>> end_requests() override;
  int kill_marked(const std::string& variable, const std::string& value) override;
  std::int64_t own_id() const override;
};

// Where the file of this program is, links resolved: a path that other processes and hosts with the same file system can
// start. kNotFound if the file was removed or replaced.
Result<std::string> program_path();

}  // namespace orrery::env
