#pragma once
// The analytic predictor: no measurement needed, every term a formula.
//
// 1. Each operator's time comes from the roofline (roofline.h); tensor parallelism shares the work (tensor_parallel.h).
// 2. The operators are cut into pipeline stages of nearly equal time.
// 3. A host launches kernels in order and the device runs them in order: an operator starts when the host has launched
//    it and the device is free.
// 4. Gradients leave in buckets as backward produces them; the exchange (communication.h) hides behind the rest of it.
// 5. Iteration = (micro-batches + stages − 1) · slowest stage + exposed exchange + update.
// 6. Memory is that of the fullest stage (memory.h).
//
// Marked uncalibrated: its interval is wide and not yet backed by measurements of the device at hand. A model of
// measured operators can take the roofline's place; everything else stays.

#include <functional>

#include "predict/predictor.h"

namespace orrery::predict {

// What a model of measurements knows instead of the roofline: seconds of each step of the run's execution order, whole,
// on one device; and between which multiples of the predicted time four of five measured ones lie.
struct LearnedTimes {
  std::vector<double> seconds{};
  double low = 1;
  double high = 1;
};

class AnalyticPredictor : public Predictor {
 public:
  using Learned = std::function<LearnedTimes(const workload::TrainingRun& run)>;
  AnalyticPredictor() = default;
  explicit AnalyticPredictor(Learned learned) : learned_(std::move(learned)) {}

  std::string_view name() const override { return "analytic"; }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override;

 private:
  Learned learned_;
};

}  // namespace orrery::predict
