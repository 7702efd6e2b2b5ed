#pragma once
// Learns from iterations measured on a machine how long each step takes there, and predicts others.
//
// Each phase and group of steps has a time regression (learn/time_regression.h). A step's time is its execution and the
// gap behind it; on a GPU, what it keeps the device busy for. Steps weigh as much as their share of their iteration.
// Where the host runs what it launches, as on a processor, times of steps add up to the iteration.
//
// The model remembers the steps it was fitted on: by likeness (step_features.h) the least and the largest prior, and
// what nearly all of them (all but 2 % at either end) took of their priors. A step's time is learned if its like was
// measured at a prior at most kReachFactor away, and if the time's multiple of the prior, the physical estimate, is at
// most kPhysicalFactor beyond those of its like. Measured multiples alone would be no bound: depthwise convolutions
// really take 50 times the estimate from their arithmetic and traffic, and nothing else does.

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "predict/learn/time_regression.h"
#include "predict/measured/step_features.h"

namespace orrery::predict {

inline constexpr double kReachFactor = 2;
inline constexpr double kPhysicalFactor = 4;

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

// A model of which more than this share of the motifs was never measured is of a kind that was not learned.
inline constexpr double kUnknownMotifsMax = 0.05;

// The regressions' times of each step, whether or not they were fitted on its like: measured/counted_times.h decides
// which of them count.
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
  // The range of measured steps that are alike.
  struct Reach {
    double prior_least = 0, prior_most = 0;
    double multiple_low = 0, multiple_high = 0;  // time over prior
    bool holds(double prior, double seconds) const;
  };
  struct Seen {
    double prior = 0, multiple = 0;
  };
  static Reach reach_of(const std::vector<Seen>& alike);
  bool is_known(std::uint64_t likeness, double prior, double seconds) const;

  StepScale scale_;
  std::array<std::array<TimeRegression, kStepGroups>, kPhases> groups_;
  std::array<std::array<double, kStepGroups>, kPhases> typical_{};  // multiples of the prior
  std::unordered_map<std::uint64_t, Reach> known_;                  // by likeness, and by that of kinds
  std::unordered_set<std::uint64_t> motifs_;
};

}  // namespace orrery::predict
