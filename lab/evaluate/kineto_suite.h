#pragma once
// `orrery evaluate kineto`: the last step of a profiled training run from the steps before it.
//
// For every trace of the folder (*.json.gz) with at least four steps: the last one is predicted as the median of those
// before it. A trend is not added: over five steps its slope is smaller than the noise between them. Groups: "step",
// the marked time on the host, and "compute", the time the device was busy, by what the file's name says about loader
// workers
// ("workers0"; otherwise "other traces"). Intervals: how far earlier steps were from the median of those before them,
// over all traces.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

// What to expect next: the median. Precondition: not empty.
double next_step_ms(std::span<const double> earlier_ms);

Result<SuiteReport> run_kineto_suite(const SuiteInput& input);

}  // namespace orrery::lab
