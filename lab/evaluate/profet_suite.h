#pragma once
// `orrery evaluate profet`: step times on other cloud machines from a profile on one of them.
//
// The folder has anchor_g3, anchor_g4, anchor_p2 and anchor_p3 (.csv.gz): profiles of training steps of CNNs on one
// instance type, with the measured times of the same steps on the three others. Without --test each model is left out
// in turn; with it everything is fitted and the models of the test folder are scored.
//
// Groups: "g3 to g4" and so on, the 12 directions; "…, log-linear" is a regression on the logarithm of the step time,
// batch and image size. Intervals come from leaving models out among those that were fitted.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_profet_suite(const SuiteInput& input);

}  // namespace orrery::lab
