#pragma once
// What no policy can beat: a lower bound of the mean completion time of elastic jobs on so many GPUs of one type, even
// if it knew all jobs in advance and restarts cost nothing. GPUs are held by one job at a time.
//
// 1. A job of work W that never works faster than at s ends at least W / (2 s) after the middle of its work:
//      end - submission >= integral of (t - submission) x speed(t) / W dt + W / (2 s).
// 2. The sum of the integrals is least in a linear program over time. By duality, for any values v_j >= 0 of a unit of
//    work, and any price p(t) >= 0 of a GPU, it is at least
//      sum of v_j W_j - integral of (p(t) GPUs + sum over jobs there of max over k of
//                                    (v_j - (t - submission_j) / W_j) s_j(k) - p(t) k) dt.
// 3. Prices are those at which about all GPUs are wanted; values are raised where a job would get less than its work,
//    lowered where it would get more, `rounds` times. Any values give a bound: the best one seen counts.
// 4. The mean of the times that jobs need with all GPUs they can use is a bound, too. The larger one counts.
// Costs between two points of time are taken as at the first, which only lowers the bound.

#include "schedule/work_values.h"
#include "simulate/job_trace.h"

namespace orrery::simulate {

struct BoundJob {
  double submit_s = 0;
  double work = 0;  // at the speeds of `speedup`
  const schedule::Speedup* speedup = nullptr;
};

// In order of submission; at least one.
double least_mean_completion_s(const std::vector<BoundJob>& jobs, int gpus, int rounds);

}  // namespace orrery::simulate
