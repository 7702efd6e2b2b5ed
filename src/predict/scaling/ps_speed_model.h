#pragma once
// How fast parameter-server jobs run, from runs of many: each job has its own formula (ps_formula.h), and what formulas
// miss is learned over all jobs together. A new job needs a few runs of its own.
//
// What is seen of a run: servers, workers, their ratio, how much slower than with one of each the formula says it is,
// how far the formula was off at the nearest run that is known, and around it (a mean weighted by the distance of the
// logarithms of servers and workers, drawn towards 0 where little is known).

#include "predict/learn/time_regression.h"
#include "predict/scaling/ps_formula.h"

namespace orrery::predict {

// A job of which some runs are known.
struct PsJob {
  static Result<PsJob> make(std::vector<PsSample> known, int kind = -1);

  PsFormula formula;
  std::vector<PsSample> known;  // what the formula comes from
  int kind = -1;                // tells jobs apart that are learned from; -1: any
};

class PsSpeedModel {
 public:
  PsSpeedModel();

  // A run to learn from.
  void add(const PsJob& job, const PsSample& sample);
  Status learn(std::uint64_t seed, int threads);
  // Seconds of a step with the servers and workers of `sample`, whose speed is not looked at.
  double seconds(const PsJob& job, const PsSample& sample) const;

 private:
  TimeLessons lessons_;
  TimeRegression regression_;
};

}  // namespace orrery::predict
