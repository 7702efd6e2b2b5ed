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
// Marked uncalibrated: its interval is wide and not yet supported by measurements of this device. A model of measured
// operators can take the roofline's place; everything else stays. The interval is that of the weakest large part: where
// operators that were not learned, shares of operators, waits for the host or for the network make up more than
// kLargePart of the iteration, or the run is outside the model's domain, it is at least the formulas'.

#include <functional>

#include "predict/predictor.h"

namespace orrery::predict {

// Four of five device times are between these multiples of the formulas' times. They come from public measurements of
// other devices (docs/reference/prediction.md), not of this one.
inline constexpr double kFormulaLow = 1 / 1.5;
inline constexpr double kFormulaHigh = 2.0;
// A part of an iteration that is larger than this decides its interval.
inline constexpr double kLargePart = 0.1;

// What a model of measurements provides instead of the roofline: seconds of each step of the run's execution order,
// whole, on one device, which of them were learned, and between which multiples of the predicted time four of five
// measured ones are if no large part is by formulas.
struct LearnedTimes {
  std::vector<double> seconds{};
  std::vector<bool> learned{};  // by step; the others are formulas
  bool in_domain = true;        // the run is like those the interval was calibrated on
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
