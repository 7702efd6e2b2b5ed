#pragma once
// Learns from iterations measured on a machine how long each step takes there, and predicts others.
//
// Each phase and group of steps has a time regression (learn/time_regression.h). A step's time is its execution and the
// gap behind it; on a GPU, what it keeps the device busy for. Steps weigh as much as their share of their iteration.
// Where the host runs what it launches, as on a processor, times of steps add up to the iteration.
//
// The model remembers which steps it has seen (known_steps.h). Measured multiples of the physical estimate alone would
// be no bound: depthwise convolutions really take 50 times what their arithmetic and traffic say, and nothing else
// does.

#include <array>

#include "predict/learn/time_regression.h"
#include "predict/measured/known_steps.h"
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

// What the regressions say of each step, whether or not they have seen its like: measured/counted_times.h says which
// of it counts.
struct StepTimes {
  std::vector<double> seconds;  // by step
  std::vector<double> typical;  // by step: its prior times what steps of its group took of theirs
  std::vector<bool> learned;    // by step: its like was learned from, and the time is near the measured ones
  std::vector<bool> related;    // by step: the same of its kind of operator and phase
  double iteration = 0;
  double unknown_motifs = 0;  // share of operators whose motif (motifs.h) was not learned from
};

class StepModel {
 public:
  static Result<StepModel> fit(std::span<const MeasuredSteps* const> measured, const StepScale& scale,
                               const BoostOptions& options);

  StepTimes predict(const workload::TrainingRun& run) const;

  void write(ByteWriter& out) const;
  static Result<StepModel> read(ByteReader& in);

 private:
  static constexpr std::size_t kPhases = 3;

  StepScale scale_;
  std::array<std::array<TimeRegression, kStepGroups>, kPhases> groups_;
  std::array<std::array<double, kStepGroups>, kPhases> typical_{};  // multiples of the prior
  KnownSteps known_;                                                // by likeness, and by that of kinds
};

}  // namespace orrery::predict
