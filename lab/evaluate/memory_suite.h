#pragma once
// Scores the memory model against measured peaks (`orrery evaluate memory`).
//
// The file has one row per model and batch size: model, batch_size, max_gpu_memory_mib, faketensor_peak_mib. A row
// whose peak falls below 0.75 of that of a smaller batch of the same model, or is the same as at twice or half the
// batch while the device is not full, ran out of memory or never got going and is left out. Models the zoo does not
// have are left out and counted. The measurements were taken on a 40 GB device, which cannot show more than it has:
// estimates above are compared at its capacity.
//
// Groups: "memory", ours, and "FakeTensor", the estimates in the file; both also with under_estimates, the share of
// cases estimated below what was measured. Figures that are milliseconds elsewhere are MiB here. Nothing is fitted.

#include <string_view>

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_memory_suite(const SuiteInput& input);
// The same of the content of a file.
Result<SuiteReport> score_memory(std::string_view csv);

}  // namespace orrery::lab
