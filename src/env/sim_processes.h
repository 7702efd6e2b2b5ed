#pragma once
// Processes that are functions: a program is registered under a name and states, when it is started, how long it will
// run and how it will end. Its end is an event on the simulated clock; wait() moves the clock. Signals behave as on a
// real machine: stop and continue move the end, kill ends at once, the others end unless the program ignores them.
//
// Not thread-safe. The clock and this object must outlive the processes.

#include <functional>

#include "env/processes.h"
#include "env/sim_clock.h"

namespace orrery::env {

struct SimRun {
  Seconds duration{};  // until it exits by itself; may be infinite
  int exit_code = 0;
  std::string standard_output{};  // appears when it exits by itself
  std::string standard_error{};
  bool ignores_terminate = false;  // and interrupt
};

using SimProgram = std::function<SimRun(const ProcessSpec&)>;

class SimProcesses final : public Processes {
 public:
  explicit SimProcesses(SimClock& clock) : clock_(clock) {}

  // Makes `name` a program that spawn() finds as argv[0]; replaces an earlier one.
  void add_program(std::string name, SimProgram program) { programs_[std::move(name)] = std::move(program); }

  Result<std::unique_ptr<Process>> spawn(const ProcessSpec& spec) override;
  Result<std::unique_ptr<EndRequests>> end_requests() override;
  int kill_marked(const std::string&, const std::string&) override { return 0; }  // programs start no others
  std::int64_t own_id() const override { return 1; }
  // Somebody asks this process to end.
  void request_end();

 private:
  SimClock& clock_;
  std::map<std::string, SimProgram> programs_;
  std::int64_t last_id_ = 1000;
  std::shared_ptr<int> end_requests_ = std::make_shared<int>(0);
};

}  // namespace orrery::env
