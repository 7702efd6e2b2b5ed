#pragma once
// Scores the memory model against measured peaks (`orrery evaluate memory`).
//
// The file has one row per model and batch size: model, batch_size, max_gpu_memory_mib, faketensor_peak_mib. A row
// whose peak falls below 0.75 of that of a smaller batch of the same model ran out of memory and is left out. Models
// the zoo does not have are left out and counted. The measurements were taken on a 40 GB device, which cannot show more
// than it has: estimates above are compared at its capacity.

#include <string>
#include <vector>

#include "base/result.h"

namespace orrery::predict {

struct MemoryCase {
  std::string model;
  std::int64_t batch = 0;
  double measured_mib = 0;
  double predicted_mib = 0;
  double low_mib = 0, high_mib = 0;
  double rival_mib = 0;  // the estimate in the file
};

struct ErrorSummary {
  double mean_error = 0;  // of |predicted − measured| / measured
  double median_error = 0;
  double p90_error = 0;
  double under_estimates = 0;  // share of cases predicted below what was measured
};

struct MemoryEvaluation {
  std::vector<MemoryCase> cases;
  std::size_t models = 0;
  std::size_t models_not_covered = 0;
  std::size_t failed_runs = 0;
  ErrorSummary ours;
  ErrorSummary rival;
  double coverage = 0;  // share of cases inside our interval
};

Result<MemoryEvaluation> evaluate_memory(std::string_view csv);

}  // namespace orrery::predict
