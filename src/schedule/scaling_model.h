#pragma once
// The speed of a job on other numbers of GPUs, as far as it is known: from tables, fitted curves or a predictor.

#include <optional>

#include "schedule/job_time.h"

namespace orrery::schedule {

// Time of a step is a M/w + b + c w/p + d w + e p (synchronous training with global batch M).
struct PsSpeed {
  double a = 0, b = 0, c = 0, d = 0, e = 0;
  double batch = 1;

  double step_s(int servers, int workers) const {
    return a * batch / workers + b + c * workers / servers + d * workers + e * servers;
  }
  PsSpeed times(double factor) const { return {a * factor, b * factor, c * factor, d * factor, e * factor, batch}; }
};

class ScalingModel {
 public:
  virtual ~ScalingModel() = default;
  // Whether step_s and gpus_max of a job may change while it runs, because they are learned.
  virtual bool learns() const { return true; }

  // Predicted time of one step on `gpus` GPUs placed as well as possible; gpus >= 1.
  virtual double step_s(JobIndex job, int gpus) const = 0;
  // The same with parameter servers and workers; no value if it is not known.
  virtual std::optional<PsSpeed> ps_speed(JobIndex) const { return std::nullopt; }
  // Predicted steps that are left now; above 0 for a job that has not ended.
  virtual double steps_left(JobIndex job) const = 0;
  // GPUs beyond which the job cannot use more.
  virtual int gpus_max(JobIndex job) const = 0;
};

}  // namespace orrery::schedule
