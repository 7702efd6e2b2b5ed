#pragma once
// The step time of a data-parallel job on k GPUs from its time on one, and from runs of the same network with other
// batches or on other numbers of GPUs:
//
//   t(b, k) = a · t(b, 1) + [k > 1] · (c + d · b) + e · (k − 1)/k + f · (k − 1)          all coefficients ≥ 0
//
// by least squares on relative errors; a run counts half as much for every doubling between its batch and the one asked
// about. How a machine's exchange grows with k seldom follows a formula (two GPUs of a board, four on one switch, eight
// with faster links), so runs on the same k are all that is looked at, where there are any.

#include <span>

#include "base/result.h"
#include "lab/lab.h"

namespace orrery::lab {

struct ScaledRun {
  double batch = 1;     // of one GPU
  double replicas = 1;  // k
  double alone_s = 0;   // t(b, 1), above 0
  double seconds = 0;   // t(b, k), above 0 to learn from
};

// The seconds of `like` are ignored.
Result<double> scaled_seconds(std::span<const ScaledRun> known, const ScaledRun& like);

}  // namespace orrery::lab
