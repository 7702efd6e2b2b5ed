#pragma once
// Scores the launch model on published launch traces: `orrery evaluate ets-p1`, `ets-p2`, `ets-p3`.
//
//   ets-p1  iterations of configurations never seen, of models that were: folds of configurations drawn at random
//   ets-p2  iterations of model families never seen: each family left out in turn
//   ets-p3  iterations on one GPU from the measured trace on another: each family, and random configurations, left out
//
// With a test folder the model is fitted on the training folder and scored on the test folder; for ets-p2 a family that
// is in both is left out of the training when it is scored. Traces whose kernels overlap are scored apart, in groups
// that end in ", overlapping". Intervals come from predictions of the training traces that did not know them, by the
// same rule of leaving out.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_ets_configurations_suite(const SuiteInput& input);
Result<SuiteReport> run_ets_families_suite(const SuiteInput& input);
Result<SuiteReport> run_ets_devices_suite(const SuiteInput& input);

}  // namespace orrery::lab
