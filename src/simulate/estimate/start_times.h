#pragma once
// When jobs of a queue start and end: the cluster is simulated forward from now, many times, each time with other run
// times that the jobs may have.
// 1. Jobs that run now are there at once, with what is left of a run time drawn for them; those that wait follow in
//    their order. All run times of one simulation are from one period of the past (duration_history.h).
// 2. The policy is told the median of each job's possible run times, not the one that was drawn.
// 3. Over all draws the quantiles of starts and ends are the answer.
// The forecast assumes no further submissions, so starts are too early under policies that let later jobs overtake.

#include <functional>
#include <vector>

#include "simulate/estimate/duration_history.h"
#include "simulate/runner.h"

namespace orrery::simulate {

struct QueuedJob {
  TraceJob job;                           // work_ns is ignored
  double executed_s = 0;                  // above 0: it runs
  std::shared_ptr<const RunTimes> times;  // that it may have
  double usual_s = 0;                     // mean of past jobs, for estimates by means
};

struct Quantiles {
  double low = 0, middle = 0, high = 0;
};

struct StartEstimate {
  Quantiles start_s, end_s;  // from now on; of a running job the start is 0
  bool never = false;        // it does not fit
  // By draw, of which the quantiles above are; empty if it never starts.
  std::vector<double> starts_s{}, ends_s{};
};

// Another job whose end allowed this one to start.
struct WaitedFor {
  std::size_t job = 0;
  double share = 0;  // of the draws in which it was the last to end before
};

// Which ends a job waits for, by the draws of `estimates`: those most often the last before its start, at most `most`
// of them. Empty for a job that starts at once, runs or never starts.
std::vector<WaitedFor> waits_for(const std::vector<StartEstimate>& estimates, std::size_t job, std::size_t most);

// The quantiles of the draws at `level`, after `later` was applied to every start: it never falls, and an end follows
// its start by as much as before. So no interval of ends begins before that of starts.
void move_starts(StartEstimate& estimate, double level, const std::function<double(double)>& later);

struct EstimateOptions {
  int draws = 100;
  double level = 0.8;  // of the interval
  std::uint64_t seed = 1;
  int threads = 1;
};

// In the order of `jobs`, which is that of submission. kInvalidArgument for a policy that does not exist.
Result<std::vector<StartEstimate>> estimate_starts(const std::vector<QueuedJob>& jobs, const JobTrace& like,
                                                   const RunSetup& setup, const std::string& policy,
                                                   const EstimateOptions& options);

// One run in which every job takes as long as a duration at this share of its possible ones (0.5: the median).
Result<RunResult> run_queue(const std::vector<QueuedJob>& jobs, const JobTrace& like, const RunSetup& setup,
                            const std::string& policy, double share);

}  // namespace orrery::simulate
