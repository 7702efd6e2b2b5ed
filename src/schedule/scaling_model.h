#pragma once
// How fast a job would be on other numbers of GPUs, as far as is known: from tables, fitted curves or a predictor.

#include "schedule/job_time.h"

namespace orrery::schedule {

class ScalingModel {
 public:
  virtual ~ScalingModel() = default;

  // Predicted time of one step on `gpus` GPUs placed as well as possible; gpus >= 1.
  virtual double step_s(JobIndex job, int gpus) const = 0;
  // Predicted steps that are left now; above 0 for a job that has not ended.
  virtual double steps_left(JobIndex job) const = 0;
  // GPUs beyond which the job cannot use more.
  virtual int gpus_max(JobIndex job) const = 0;
};

}  // namespace orrery::schedule
