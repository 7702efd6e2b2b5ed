#pragma once
// Times of a step by model, batch and number of GPUs: how jobs of these models scale, measured or predicted.
//
// Measured ones come from a file: CSV with the columns model, gpus, step_s, and, if it matters, batch: samples per step
// of all GPUs together. Rows without a batch hold for any that has no rows of its own. Several rows of the same are
// averaged.

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "schedule/step_curve.h"
#include "simulate/job_trace.h"

namespace orrery::simulate {

// By job; null: nothing is known of it.
using JobCurves = IndexedVector<JobIndex, schedule::SharedCurve>;

// Where a trace does not say the batch of a job: 32 samples on each GPU that it asks for, as `orrery predict` assumes.
double batch_of(const TraceJob& job);

class StepTimes {
 public:
  // A row that is wrong is an error, with its line.
  static Result<StepTimes> parse(std::string_view csv, const std::string& file);

  // A batch of 0 is any.
  void add(const std::string& model, double batch, schedule::SharedCurve curve) {
    curves_.insert_or_assign({model, batch}, std::move(curve));
  }
  bool empty() const { return curves_.empty(); }
  // Of every job of a trace; empty if nothing is known.
  JobCurves curves_of(const JobTrace& job_trace) const;

 private:
  schedule::SharedCurve curve_of(const TraceJob& job) const;

  std::map<std::pair<std::string, double>, schedule::SharedCurve> curves_;
};

}  // namespace orrery::simulate
