#pragma once
// What `orrery simulate` plays a trace with: from options to a RunSetup.

#include "cli/command.h"
#include "cli/job_traces.h"
#include "simulate/runner.h"

namespace orrery::cli {

// The options that decide the result of a run, beside the trace, --policy and --seed.
std::vector<OptionRecord> setup_options();

struct SimulationSetup {
  simulate::RunSetup base;          // without what depends on the seed
  simulate::TimeNs until_ns = 0;    // failures are drawn until then
  double mtbf_s = 0, repair_s = 0;  // 0: machines do not fail by themselves
  bool told = false;                // of failures before they happen
  simulate::TimeNs notice_ns = 0, save_ns = 0;
  bool is_random = false;   // another seed gives another run
  std::string fingerprint;  // of everything here

  simulate::RunSetup with_seed(std::uint64_t seed) const;
};

Result<SimulationSetup> load_setup(Context& context, const OptionValues& options, const ClusterChoice& cluster,
                                   const simulate::JobTrace& job_trace);

}  // namespace orrery::cli
