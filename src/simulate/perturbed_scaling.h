#pragma once
// A scaling model for policies that is wrong on purpose, by a known amount.
//
// The speed on every number of GPUs is v (1 + e) or v (1 - e), and the steps left are n (1 + c) or n (1 - c), where c
// shrinks to 0 as the job approaches its end. Which of the two, is drawn by seed, job and number of GPUs; the same seed
// gives the same signs.

#include <cstdint>

#include "schedule/cluster_view.h"
#include "schedule/scaling_model.h"

namespace orrery::simulate {

struct ScalingErrors {
  double speed = 0;        // e, below 1
  double convergence = 0;  // c of a job that has done nothing yet, below 1
  bool any() const { return speed > 0 || convergence > 0; }
};

class PerturbedScaling : public schedule::ScalingModel {
 public:
  // View and model are borrowed.
  PerturbedScaling(const schedule::ClusterView& view, const schedule::ScalingModel& truth, const ScalingErrors& errors,
                   std::uint64_t seed)
      : view_(view), truth_(truth), errors_(errors), seed_(seed) {}

  double step_s(schedule::JobIndex job, int gpus) const override;
  // Wrong by one factor for all numbers of servers and workers.
  std::optional<schedule::PsSpeed> ps_speed(schedule::JobIndex job) const override;
  double steps_left(schedule::JobIndex job) const override;
  int gpus_max(schedule::JobIndex job) const override { return truth_.gpus_max(job); }

 private:
  double sign(schedule::JobIndex job, int what) const;

  const schedule::ClusterView& view_;
  const schedule::ScalingModel& truth_;
  ScalingErrors errors_;
  std::uint64_t seed_;
};

}  // namespace orrery::simulate
