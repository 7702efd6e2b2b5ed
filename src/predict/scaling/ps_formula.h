#pragma once
// How fast a parameter-server job runs with p servers and w workers (Peng et al., Optimus, EuroSys 2018). The time of a
// step is a sum of terms with coefficients ≥ 0, fitted by non-negative least squares on relative errors:
//
//   synchronous    1 / f = a · M / w + b + c · w / p + d · w + e · p          f: steps/s of the job, M: its global
//   batch asynchronous   w / f = a + b · w / p + c · w + d · p                       f: steps/s of all workers together
//
// Where the global batch grows with the workers (M = m · w) the first term is constant and joins b.

#include "base/result.h"
#include "predict/regression/least_squares.h"

namespace orrery::predict {

struct PsSample {
  double servers = 1;
  double workers = 1;
  double speed = 0;  // steps/s, above 0
};

enum class Synchrony { kSynchronous, kAsynchronous };
// The global batch is the same however many workers share it, or each worker adds its own.
enum class BatchRule { kShared, kPerWorker };

class PsFormula {
 public:
  static constexpr std::size_t kSamplesMin = 2;

  static Result<PsFormula> fit(std::span<const PsSample> samples, Synchrony synchrony, BatchRule batch);

  double speed(double servers, double workers) const;
  // Of 1, w / p, w, p and, with a shared batch, 1 / w.
  std::span<const double> coefficients() const { return fit_.coefficients; }

  // Of the candidates the one that fits to all samples but one disagree about most: what to measure next. The samples
  // are those it was fitted on. Precondition: there is a candidate.
  static Result<std::size_t> next_trial(std::span<const PsSample> samples, std::span<const PsSample> candidates,
                                        Synchrony synchrony, BatchRule batch);

 private:
  std::vector<double> terms(double servers, double workers) const;

  Synchrony synchrony_ = Synchrony::kSynchronous;
  BatchRule batch_ = BatchRule::kShared;
  LinearFit fit_;
};

}  // namespace orrery::predict
