#pragma once
// How good start estimates would have been: a trace is played, and at the submission of some jobs that had to wait, the
// estimate made from what was known then is compared with the job's actual start.
//
// Known then: which jobs ran since when, which waited in which order, when others started, and how long jobs ran that
// had ended. Jobs are drawn from those that waited for kWaitMinSeconds at least, after a tenth of the trace, which only
// teaches, and started before its last submission: later run times are cut there. The baseline takes the mean of jobs
// of one tenant with as many GPUs for a run time, and simulates forward once.
//
// Estimates of simulations are mixed with those from the pace of the queue (queue_pace.h), each by how good it was in
// the cases that had happened before.
//
// What jobs have in common (a group that goes on holiday, a deadline) is in no draw, so intervals of draws are too
// narrow. A replay shows by how much: with w = log(1 + wait), an interval is widened around its middle by the factor
// with which four of five of the last 50 cases would have been inside. Cases whose jobs had not started when a job was
// submitted do not count for it. Times change: every case that was outside lets the next ones ask for 1.6 % more than
// four of five, every one inside for 0.4 % less (adaptive conformal inference, Gibbs and Candes 2021).

#include "simulate/estimate/queue_pace.h"

namespace orrery::simulate {

struct StartCase {
  JobIndex job{};
  double submit_s = 0;
  double waited_s = 0;  // what happened
  Quantiles drawn_s{};  // of simulations, as it comes from the draws
  QueuePace pace{};
  Quantiles mixed_s{};     // ours: the two together
  Quantiles estimate_s{};  // ours, widened
  double by_mean_s = 0;    // the baseline's
  double stretch = 1;      // by the cases before
  bool is_inside() const { return waited_s >= estimate_s.low && waited_s <= estimate_s.high; }
};

struct StartScore {
  std::size_t cases = 0;
  double error_s = 0, by_mean_error_s = 0;  // medians of |estimate - truth|
  double waited_s = 0;                      // median
  double inside = 0;                        // share of cases
};

inline constexpr double kWaitMinSeconds = 60;

// An error for policies that suspend jobs: what ran for how long is not known of them here.
Result<std::vector<StartCase>> replay_starts(const JobTrace& job_trace, const RunSetup& setup,
                                             const std::string& policy, std::size_t cases,
                                             const EstimateOptions& options);
// The weights of the estimates after these cases.
PaceMixer mixer_of(std::span<const StartCase> cases);
// The factor by which intervals like those of the cases have to be widened to hold `level`; 1 without enough cases.
double stretch_of(std::span<const StartCase> cases, double level);
Quantiles stretched(const Quantiles& interval, double stretch);
// A wait after the interval around `middle_s` was widened; never below 0.
double stretched_wait_s(double wait_s, double middle_s, double stretch);
// Precondition: there is a case.
StartScore score_of(const std::vector<StartCase>& cases);

}  // namespace orrery::simulate
