#pragma once
// How fast parameter-server jobs run, from runs of many: the logarithm of a step's time is a smooth surface over the
// logarithms of servers and workers, partly the same for all jobs, partly a job's own. A new job needs a few runs.
//
// A Gaussian process over all runs. With x the two logarithms, and same = 1 for runs of one job and 0 otherwise, two
// runs covary by
//
//   (1 + same) · (1 + x·x')  +  (0.3 + 0.1 same) · exp(−|x − x'|² / 2),   a run with itself by 0.01 more
//
// so a job's own runs set its own plane, and the shape of the others' surfaces fills the rest. O(n³) to learn from n
// runs, O(n) for a prediction. (Rasmussen and Williams 2006, chapter 2; Bonilla et al. 2008 for several tasks.)

#include <span>
#include <string>
#include <vector>

#include "lab/lab.h"
#include "predict/scaling/ps_formula.h"

namespace orrery::lab {

struct PsRun {
  std::string job;
  PsSample sample;
};

class PsSpeedModel {
 public:
  static constexpr std::size_t kRunsMax = 5000;

  static Result<PsSpeedModel> fit(std::span<const PsRun> runs);

  // Seconds of a step of a job with this many servers and workers.
  double seconds(const std::string& job, double servers, double workers) const;

 private:
  std::vector<PsRun> runs_;
  std::vector<double> weights_;  // of each run in a prediction
  double mean_ = 0;              // of the logarithms
};

// Which of the candidates to run first to learn about a new job: each the farthest, in logarithms, from those before
// it; the first is the farthest from their middle.
std::vector<std::size_t> spread_trials(std::span<const PsSample> candidates, std::size_t count);

}  // namespace orrery::lab
