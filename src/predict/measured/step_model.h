#pragma once
// Learns from iterations measured on a machine how long each step takes there, and predicts others.
//
// Each phase and group of steps has a time regression (learn/time_regression.h). A step's time is its execution and the
// gap behind it; on a GPU, what it keeps the device busy for. Steps weigh as much as their share of their iteration.
// Where the host runs what it launches, as on a processor, times of steps add up to the iteration.

#include <array>
#include <unordered_set>

#include "predict/learn/time_regression.h"
#include "predict/measured/step_features.h"

namespace orrery::predict {

// One measured iteration: seconds per step of the run's execution order; 0: not measured.
struct MeasuredSteps {
  workload::TrainingRun run;
  std::vector<double> seconds;
  double iteration = 0;
};

// How every step model here is fitted, whether it is shipped or scored.
inline BoostOptions step_boost_options(std::uint64_t seed, int threads) {
  return {.trees = 150, .seed = seed, .threads = threads};
}

struct StepTimes {
  std::vector<double> seconds;  // by step
  double iteration = 0;
  double unknown_share = 0;   // of the time, in steps whose like was not learned from
  double unknown_motifs = 0;  // share of operators whose motif (motifs.h) was not learned from
  bool in_domain() const { return unknown_share <= kUnknownMax && unknown_motifs <= kUnknownMotifsMax; }
  static constexpr double kUnknownMax = 0.3, kUnknownMotifsMax = 0.05;
};

class StepModel {
 public:
  static Result<StepModel> fit(std::span<const MeasuredSteps* const> measured, const StepScale& scale,
                               const BoostOptions& options);

  StepTimes predict(const workload::TrainingRun& run) const;
  // The predicted sum of those steps that were measured.
  double predict_like(const MeasuredSteps& measured) const;

  void write(ByteWriter& out) const;
  static Result<StepModel> read(ByteReader& in);

 private:
  static constexpr std::size_t kPhases = 3;
  StepScale scale_;
  std::array<std::array<TimeRegression, kStepGroups>, kPhases> groups_;
  std::unordered_set<std::uint64_t> known_, motifs_;
};

}  // namespace orrery::predict
