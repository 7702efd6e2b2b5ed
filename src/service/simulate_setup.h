#pragma once
// What a job trace is played with: from fields to a RunSetup.

#include "service/clusters.h"
#include "simulate/runner.h"

namespace orrery::service {

// What elastic policies know of how jobs scale (simulate::ScalingKnowledge).
enum class ScalingChoice { kAuto, kKnown, kFitted, kPredicted };
std::string_view to_string(ScalingChoice choice);

// What policies know of jobs.
enum class JobInputs {
  kTrace,  // what the trace says
  kLive,   // what a real cluster could know (simulate/live_inputs.h)
};
std::string_view to_string(JobInputs inputs);

// The fields that decide the result of a run, beside the trace, the cluster, the policy and the seed.
struct SetupFields {
  std::string placement;  // name of a schedule::Placer
  double prediction_error = 0;
  Seconds start_cost, resume_cost, move_cost;
  std::optional<Seconds> mtbf;  // of a machine; empty: machines do not fail by themselves
  Seconds repair, checkpoint;
  std::optional<Seconds> preemption_notice;
  Seconds save_time;
  double stragglers = 0, straggler_slowdown = 1;
  int quota = 0;  // GPUs of one tenant; 0: no limit
  std::optional<Seconds> age, min_run, round;
  double elastic = 1;
  JobInputs inputs = JobInputs::kTrace;
  ScalingChoice scaling = ScalingChoice::kAuto;  // predicted if inputs are live, otherwise known
  double trial_noise = 0;
  Seconds trial_time;
  double serial_share = 0, spread_cost = 0;
  std::string step_times, locality, interference;  // files of measured speeds; empty: none
  DollarsPerHour gpu_price;
  std::string prices;  // file; empty: gpu_price holds
  std::optional<DollarsPerHour> bid;

  bool operator==(const SetupFields&) const = default;
};
const Fields<SetupFields>& setup_fields();

struct SimulationSetup {
  simulate::RunSetup base;          // without what depends on the seed
  simulate::TimeNs until_ns = 0;    // failures are drawn until then
  double mtbf_s = 0, repair_s = 0;  // 0: machines do not fail by themselves
  bool told = false;                // of failures before they happen
  simulate::TimeNs notice_ns = 0, save_ns = 0;
  bool is_random = false;            // another seed gives another run
  std::vector<std::string> notes{};  // for people

  simulate::RunSetup with_seed(std::uint64_t seed) const;
};

// `env` is borrowed by the setup. Errors name fields that exclude or need each other.
Result<SimulationSetup> load_setup(const env::Env& env, const SetupFields& fields, const ClusterChoice& cluster,
                                   const simulate::JobTrace& job_trace, const FieldNames& names);

// A key of everything that decides a run but its policy and seed: job trace, cluster, fields and the content of their
// files. It writes out the whole job trace, so only sweeps that are kept in a file ask for it.
Result<std::string> fingerprint(env::Env env, const SetupFields& fields, const ClusterChoice& cluster,
                                const simulate::JobTrace& job_trace);

// A cluster under a policy.
struct SimulatedCluster {
  std::string cluster;
  std::string policy;
  SetupFields setup;

  bool operator==(const SimulatedCluster&) const = default;
};
const Fields<SimulatedCluster>& simulated_cluster_fields();

}  // namespace orrery::service
