#pragma once
// Every policy on every real trace, with two loads each: what is best for mean and p99 completion time and for
// fairness, and where our own policy stands.
//
// A trace is cut to its first jobs, and played on machines of 8 GPUs, as many as make the load: GPU time asked for /
// (GPUs x time from the first submission to the last), at least enough for the largest job. Where that takes more
// machines than the load would, submissions come faster instead. All policies are told the
// same run times, right or wrong, and pay the same for restarts. Elastic policies (schedule::needs_elastic_jobs) may
// give jobs other numbers of GPUs than they ask for and know how they scale; the others cannot use that, so a fair
// comparison of ours is with the elastic ones. Traces whose jobs all come at once have no load, those of a handful of
// jobs no p99: both are left out.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/table.h"
#include "env/files.h"
#include "simulate/summary.h"

namespace orrery::simulate {

inline constexpr int kGpusPerMachine = 8;

// As many machines as make the load, at least enough for the largest job.
std::size_t machines_for(const JobTrace& job_trace, double load);
// The same jobs, sooner after each other where so many machines would have less than the load, but for rounding up to
// machines. Deadlines stay as far from submissions.
JobTrace hurried(const JobTrace& job_trace, double load);

struct RealTrace {
  std::string name;
  JobTrace job_trace;
};

// Those of the data folder that can be played by themselves; the error names a folder without any.
Result<std::vector<RealTrace>> read_real_traces(env::Files& files, const std::string& data);

struct PolicyTableOptions {
  std::vector<std::string> policies{};
  std::string ours = "flow";
  std::vector<double> loads = {0.7, 1.1};
  std::size_t jobs_max = 1000;
  double restart_s = 30;
  double prediction_sigma = 0;
  int threads = 1;
};

struct PolicyCell {
  std::string trace;
  double load = 0;
  int gpus = 0;
  std::vector<Summary> runs;  // ours last
  double least_mean_s = 0;    // below which no policy can be whose jobs do not share GPUs (completion_bound.h)
};

Result<std::vector<PolicyCell>> run_policy_table(const std::vector<RealTrace>& traces,
                                                 const PolicyTableOptions& options, const std::function<void()>& done);

// A row for each cell: the best published policy by each figure, and ours; `least_ratio` is how far below the best mean
// any policy without sharing could be.
Table winners_table(const std::vector<PolicyCell>& cells);
// A row for each cell and policy.
Table all_table(const std::vector<PolicyCell>& cells);

}  // namespace orrery::simulate
