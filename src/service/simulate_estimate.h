#pragma once
// When the jobs of a queue start and end, what a job waits for, and how good such estimates would have been.

#include "base/table.h"
#include "service/job_traces.h"
#include "service/simulate_setup.h"
#include "simulate/estimate/start_replay.h"

namespace orrery::service {

struct EstimateRequest {
  FieldNames names;
  std::string queue;  // or, with `replay`, a job trace
  SimulatedCluster on;
  std::string history;        // job trace of finished jobs; empty: duration_s and `error` say how long jobs run
  double error = 0;           // of duration_s: standard deviation of its logarithm
  std::string explain;        // id of a job; empty: none
  std::optional<int> replay;  // number of jobs to estimate at their submission
  int draws = 1, threads = 1;
  std::uint64_t seed = 1;
  JobTraceFields read;

  bool operator==(const EstimateRequest&) const = default;
};
const Fields<EstimateRequest>& estimate_fields();

// A queue as it is now.
struct Queue {
  simulate::JobTrace job_trace;
  std::vector<simulate::QueuedJob> jobs;
  std::optional<simulate::JobTrace> history{};
  std::size_t ended = 0;   // jobs of the file that have left the queue
  std::string problems{};  // of its rows, for people
};

// What would let a job start earlier, and when.
struct Remedy {
  std::string what;
  double start_s = 0;
};

struct StartExplanation {
  std::size_t job = 0;
  int gpus = 0, gpus_free = 0;               // of the cluster
  int waiting_before = 0, waiting_gpus = 0;  // jobs in front of it, and what they ask for
  std::vector<simulate::WaitedFor> blockers{};
  std::vector<Remedy> remedies{};
};

struct EstimateAnswer {
  Queue queue;
  ClusterChoice cluster;
  std::vector<simulate::StartEstimate> estimates;  // of the jobs of the queue
  std::optional<StartExplanation> explanation{};
};
Result<EstimateAnswer> estimate(env::Env env, const EstimateRequest& request);

Table estimate_table(const EstimateAnswer& answer);
// What the job waits for and what would help, several lines. Precondition: one was asked for.
std::string explanation_text(const EstimateAnswer& answer);

struct ReplayAnswer {
  std::string trace;
  ClusterChoice cluster;
  simulate::StartScore score;
};
// Estimates jobs of the trace at their submission, and scores them against what happened. Precondition: request.replay.
Result<ReplayAnswer> replay_estimates(env::Env env, const EstimateRequest& request);

Table replay_table(const ReplayAnswer& answer);

}  // namespace orrery::service
