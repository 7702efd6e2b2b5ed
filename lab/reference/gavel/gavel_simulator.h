#pragma once
// The world of Gavel's simulator: jobs of so many steps, in rounds, on types of GPUs that differ.
//
// 1. A job that is chosen for a round does at most floor(speed x round) steps of it. The round ends when the last of
//    those chosen does; one that ends earlier leaves its GPUs idle, but has its own end. Both jobs of a pair end
//    together. Where a job did not run in the round before, `resume_s` of a full round are lost.
// 2. When jobs came or left, and the shares are at least `reset_s` old, shares are computed anew (schedule/policies/
//    gavel_shares.h), and the books are restarted (gavel_rounds.h). Jobs that came since then wait, and the GPUs that
//    they would be given are idle.
// 3. A job with a rule for its batch (batch_rules.h) may ask for another one when a round ends. That changes its speed,
//    so shares are out of date.
// 4. Without anybody running the clock goes to the next arrival; time that a round seems to have lasted counts from the
//    end of the round before.
// Types are looked through in the order given, by policies that do not look at speeds in an order
// drawn every round.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"
#include "lab/reference/gavel/batch_rules.h"
#include "lab/reference/gavel/packed_speeds.h"
#include "schedule/job_time.h"

namespace orrery::lab {

struct GavelJob {
  PackedSpeeds::Kind kind = 0;
  std::int64_t steps = 0;
  int gpus = 1;
  double submit_s = 0;
  double weight = 1;
  double deadline_s = -1;  // below 0: none
  BatchRule rule = BatchRule::kStatic;
  BatchedModel model{};  // of one whose batch changes
};

using GavelJobs = IndexedVector<schedule::JobIndex, GavelJob>;

struct GavelOptions {
  std::vector<int> gpus{};  // by type, as in the speeds
  double round_s = 360;
  double reset_s = 1920;
  double resume_s = 0;
  std::uint64_t seed = 0;
};

struct GavelResult {
  IndexedVector<schedule::JobIndex, double> completion_s;  // from its submission
  double makespan_s = 0;
};

// "fifo", "fifo_perf", "allox", "allox_alpha=0.2", "isolated", "gandiva", "max_min_fairness_perf",
// "max_min_fairness_packed", "finish_time_fairness_perf", "min_total_duration_perf", "max_sum_throughput_perf".
bool is_gavel_policy(std::string_view name);

// Jobs must be in order of submission.
Result<GavelResult> simulate_gavel(const GavelJobs& jobs, const PackedSpeeds& speeds, std::string_view policy,
                                   const GavelOptions& options);

}  // namespace orrery::lab
