#pragma once
// Playing a job trace on a cluster under policies: one run of each, or a sweep over seeds.

#include "service/job_traces.h"
#include "service/simulate_setup.h"
#include "service/watch.h"
#include "simulate/sweep.h"

namespace orrery::service {

struct SimulateRequest {
  FieldNames names;
  std::string trace;
  std::string cluster;
  std::vector<std::string> policies;
  int threads = 1;
  std::uint64_t seed = 1;
  int seeds = 1;
  std::string sweep;    // file that keeps the metrics of every run; empty: none
  std::string explain;  // id of a job; empty: none
  SetupFields setup;
  JobTraceFields read;
  // Not fields: what a caller wants to draw or write of the runs, beside their metrics.
  bool keep_log = false, keep_holdings = false;

  // Every policy with every seed, of which only metrics are kept; otherwise one run of each policy.
  bool is_sweep() const { return seeds > 1 || !sweep.empty(); }
  bool operator==(const SimulateRequest&) const = default;
};
const Fields<SimulateRequest>& simulate_fields();

// What a request names, read and checked.
struct Simulation {
  simulate::JobTraceFile file;
  ClusterChoice cluster;
  SimulationSetup setups;
  std::optional<simulate::JobIndex> explained{};
  std::string fingerprint{};  // of a sweep that is kept in a file
};
// `env` is borrowed by what is loaded.
Result<Simulation> load_simulation(const env::Env& env, const SimulateRequest& request);

struct SimulateAnswer {
  std::vector<simulate::RunResult> runs;     // by policy; none of a sweep
  std::vector<simulate::Summary> summaries;  // by policy, then seed; without those that failed
  std::vector<simulate::SweepFailure> failures{};
  std::size_t kept = 0;  // of the summaries, from the file of the sweep
};
Result<SimulateAnswer> simulate(env::Env env, const SimulateRequest& request, const Simulation& loaded, Watch& watch);

// The runs of a request as a sweep, for callers that carry them out elsewhere. `loaded` is borrowed.
simulate::SweepInput sweep_of(const SimulateRequest& request, const Simulation& loaded);

// Success if every run has metrics; otherwise an error that names those that have none.
Status failure_of(const SimulateAnswer& answer);

}  // namespace orrery::service
