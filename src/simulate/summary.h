#pragma once
// The metrics of a run.

#include "base/table.h"
#include "simulate/engine.h"

namespace orrery::simulate {

struct Summary {
  std::string policy;
  std::uint64_t seed = 1;
  std::int64_t jobs = 0;                                  // that ended
  std::int64_t unfinished = 0;                            // left waiting
  std::int64_t too_large = 0;                             // never fit
  double mean_s = 0, median_s = 0, p90_s = 0, p99_s = 0;  // completion time: from submission to end
  double queueing_s = 0;                                  // mean time without GPUs
  double makespan_s = 0;                                  // from the first submission to the last end
  double utilisation = 0;                                 // share of GPU time in use until the last end
  double slowdown = 0;  // mean of completion time / run time alone (finish-time ratio)
  double slowdown_p99 = 0;
  double fairness = 0;     // Jain's index of the tenants' mean slowdowns: 1 is even
  double tardiness_s = 0;  // mean over jobs with a deadline of their tardiness
  std::int64_t deadlines = 0, late = 0;
  double restarts = 0;       // starts beyond the first, and moves, per job
  double cost = 0;           // GPU hours held x price, which may change over time; 0 without a price
  double fragmentation = 0;  // share of GPU time that was free on machines partly in use
  std::int64_t events = 0;
  std::uint64_t decision_hash = 0;
};

Summary summarise(const JobTrace& job_trace, const RunResult& run, int gpus, double price_per_gpu_h);

Table to_table(const std::vector<Summary>& summaries);
// A row of that table as JSON; fields that are missing or of another type are errors.
Result<Summary> summary_of_json(std::string_view json);

}  // namespace orrery::simulate
