#pragma once
// ElasticFlow (ASPLOS'23): elastic jobs with deadlines; admitted jobs keep theirs.
//
// Assumes: elastic jobs (from one GPU up); predicted work; how jobs scale is known; one type of GPU.
// 1. Minimum satisfactory share. In order of deadlines, an admitted job gets the fewest GPUs k with which it ends in
//    time: at any time min(k, what earlier deadlines leave), from now to its end.
// 2. Admission. A job with a deadline is admitted on arrival if with it every admitted job still gets such a share;
//    otherwise, and without a deadline, it is a best-effort job. (The paper rejects it; here no job is lost.)
// 3. Every admitted job gets its share for now. What is left goes to best-effort jobs, one GPU each, the shortest
//    first; then a running job keeps what it holds beyond that as far as it lasts; then, one by one, GPUs go where they
//    save most time, to jobs that wait or would have at least `slack` times what they hold.
// Admitted jobs that can no longer end in time (predictions were wrong, machines failed) get all they can use after the
// others. Jobs that must not be suspended yet keep their GPUs. Ties: earlier submission.
// O(jobs x segments x log GPUs) per event, segments being at most the admitted jobs.
// Source: Gu et al., "ElasticFlow" (ASPLOS 2023), section 4.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"
#include "schedule/scaling_model.h"

namespace orrery::schedule {

struct ElasticFlowOptions {
  double slack = 2;
};

// `model` is borrowed and must outlive the policy.
std::unique_ptr<Policy> make_elastic_flow(const ElasticFlowOptions& options, const ScalingModel& model,
                                          std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
