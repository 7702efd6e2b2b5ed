#pragma once
// Stepwise selection of columns for a linear regression (Draper and Smith).
//
// 1. Constant columns are dropped; the model begins empty.
// 2. The candidate is the unused column that is most correlated with the residual (kResidual), or the one whose partial
//    F is the largest (kPartial, the textbook's).
// 3. It enters if |b / se| exceeds Student's 1 − p_add/2 quantile with n − p degrees of freedom, p counting the
//    intercept.
// 4. The column with the smallest |b / se| leaves if that is below the 1 − p_remove/2 quantile.
// 5. Again from 2, until nothing enters or leaves.

#include "predict/regression/least_squares.h"

namespace orrery::predict {

enum class StepwiseRule { kResidual, kPartial };

struct StepwiseOptions {
  StepwiseRule rule = StepwiseRule::kResidual;
  double p_add = 0.05;
  double p_remove = 0.10;
  int steps_max = 100;
};

struct StepwiseFit {
  std::vector<std::size_t> columns;  // chosen, in the order of the design
  LinearFit fit;                     // of those columns
  std::vector<std::string> history;  // "+x4", "-x4"
};

Result<StepwiseFit> stepwise(const Design& design, std::span<const double> targets,
                             const StepwiseOptions& options = {});

}  // namespace orrery::predict
