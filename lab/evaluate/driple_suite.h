#pragma once
// driple: what training runs use of a GPU, from their graphs (resource_runs.h).
//
// Every model (the mean, a ridge regression and boosted trees on aggregates of the
// graph, with --steps Driple's network) is fitted on the training part; the one with the smallest validation error is
// fitted again on both, unless it watched the validation part while it learned, and scored once. Intervals come from
// its errors on the validation part.
//
// Beside what every suite reports: the root of the mean squared error relative to the range, the mean (both of the
// scored runs) and the largest training value, per metric and averaged over metrics (nrmse_range, nrmse_mean,
// nrmse_max_train). The first is what models are chosen by.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_driple_suite(const SuiteInput& input);

}  // namespace orrery::lab
