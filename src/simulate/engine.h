#pragma once
// The simulated cluster: plays a job trace against a policy, event by event. The dispatcher (schedule/dispatcher.h)
// decides; here jobs work, end and lose machines.
//
// Order of events, total and the same every time: by time; at one instant jobs end first (by index), then machines come
// back and fail, then jobs arrive (in order of submission), then the dispatcher's step. A policy that works in rounds is
// called at multiples of its round only. O(log n) per event apart from what the policy does.

#include <optional>

#include "schedule/dispatcher.h"
#include "simulate/job_trace.h"
#include "simulate/live_inputs.h"
#include "simulate/speed_model.h"

namespace orrery::simulate {

using schedule::Costs;
using schedule::LoggedDecision;

struct Outage {
  TimeNs fails_ns = 0;
  TimeNs returns_ns = kNever;
  MachineIndex machine{};
  bool is_announced = false;  // jobs have saved their work
};

// A spot machine announces `notice` before that it is taken back. If jobs can save within that, they do, and leave as
// soon as they have.
void announce(std::vector<Outage>& outages, TimeNs notice_ns, TimeNs save_ns);

// Every machine fails after exponential times and is repaired for as long on average; the same seed gives the same
// times. Until `until`; later failures are left out.
std::vector<Outage> random_outages(std::size_t machines, double mean_time_between_s, double mean_repair_s, TimeNs until,
                                   std::uint64_t seed);

// Workers that are slow for no reason of the job: each GPU's, whenever a job starts on it, with this probability.
struct Stragglers {
  double probability = 0;
  double slowdown = 3;  // the whole job is slower by this, until it starts anew
};

struct PricePoint {
  TimeNs at_ns = 0;
  double usd_per_gpu_h = 0;  // from then on
};

struct EngineOptions {
  Costs costs{};
  // What the first start of each job costs beyond that; empty: nothing.
  IndexedVector<JobIndex, TimeNs> first_starts{};
  std::vector<Outage> outages{};
  // GPUs that each tenant's jobs may ask for at a time; 0: no limit. A job beyond it is not shown to the policy before
  // earlier ones of its tenant have ended; it comes in the order of submission.
  int tenant_quota = 0;
  // A job that has waited this long gets the next free GPUs under any policy (schedule/aged_jobs.h); 0: never.
  TimeNs age_ns = 0;
  // No job is suspended before it has run this long (ClusterView::is_protected).
  TimeNs min_run_ns = 0;
  Stragglers stragglers{};
  std::vector<PricePoint> prices{};  // by time, the first at 0; for RunResult::price_usd
  // How fast jobs of each class (JobFacts::speed_class) are on each type of device; empty: types do not differ.
  std::vector<std::vector<double>> speeds{};
  TimeNs round_ns = 0;  // the policy is called at multiples of this only; 0: at its own
  // Policies know of jobs what a real cluster could know, instead of the next two. The curves that are predicted are
  // borrowed.
  std::optional<LiveOptions> live{};
  const JobCurves* predicted = nullptr;
  // The work of each job as policies see it; empty: as the next line says.
  IndexedVector<JobIndex, TimeNs> predicted_ns{};
  // Predicted work is true work times exp(N(0, sigma)), by job and seed.
  double prediction_sigma = 0;
  std::uint64_t seed = 1;
  bool keep_log = false;          // RunResult::log
  bool keep_holdings = false;     // RunResult::holdings
  bool check_invariants = false;  // after every event; slow
  bool forget_ended = false;      // for tests: the dispatcher forgets jobs as soon as they have ended
  // For tests: after every event the policy is saved, and another one made, which is restored from what this makes of
  // the bytes. If it refuses them, a third one adopts the cluster and is called at once.
  std::function<std::string(std::string)> restart_policy{};
};

struct JobOutcome {
  TimeNs first_start_ns = kNever;
  TimeNs end_ns = kNever;  // kNever: see RunResult::too_large and unfinished
  TimeNs executed_ns = 0;
  std::int32_t starts = 0;
  std::int32_t moves = 0;  // migrations and resizings
};

// A job on one machine, from its start to its next change.
struct Holding {
  JobIndex job{};
  MachineIndex machine{};
  std::int32_t gpus = 0;
  TimeNs from_ns = 0, to_ns = 0;
  JobIndex beside = schedule::kNoJob;  // the job whose GPUs it shares, from its start on
  std::int64_t number = 0;             // of its start, among all starts in their order
};

struct UtilisationPoint {
  TimeNs at_ns = 0;
  std::int32_t busy = 0;      // GPUs
  std::int32_t waiting = 0;   // jobs
  std::int32_t running = 0;   // jobs
  std::int32_t stranded = 0;  // free GPUs on machines that are partly in use
};

struct RunResult {
  std::string policy;
  IndexedVector<JobIndex, JobOutcome> jobs;  // as in the job trace
  std::vector<JobIndex> too_large;   // ask for more GPUs than the cluster has of a type they run on, or their quota
  std::vector<JobIndex> unfinished;  // wait for machines that never return, or behind jobs that do
  std::vector<LoggedDecision> log;
  std::vector<Holding> holdings;      // in the order of their ends
  std::vector<UtilisationPoint> use;  // thinned out: at most a few thousand points
  double busy_gpu_ns = 0;
  double stranded_gpu_ns = 0;  // see UtilisationPoint::stranded
  double price_usd = 0;        // of the GPUs in use, by EngineOptions::prices
  TimeNs makespan_ns = 0;
  std::int64_t events = 0;  // arrivals, ends and wake-ups
  std::int64_t decisions = 0;
  std::uint64_t decision_hash = 0;  // of every decision with its time, in order
  // If EngineOptions::restart_policy is set: the most bytes of a saved state beyond those of live jobs, 200 each, how
  // many live jobs it had, and how often bytes were refused.
  std::ptrdiff_t state_bytes = 0;
  std::size_t state_jobs = 0;
  int states_refused = 0;
};

// `machines` as at the start, all GPUs free. `policy` makes the policy, which may look at the view while the run lasts.
// An error is a decision that cannot be carried out, or jobs left behind: when nothing else is to come, every job ends
// that the machines which are up can run. A policy under which one does not has a defect, and its metrics, which would
// be of fewer jobs than those of other policies, are not given.
Result<RunResult> simulate(const JobTrace& job_trace, const schedule::Machines& machines, const SpeedModel& speed,
                           const schedule::PolicyMaker& policy, const EngineOptions& options = {});

}  // namespace orrery::simulate
