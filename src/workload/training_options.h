#pragma once
// The option records of how a model is trained, shared by the command line and job files.

#include <vector>

#include "base/options.h"
#include "workload/training_run.h"

namespace orrery::workload {

OptionRecord optimizer_option();
// "auto" or a name of base/precision.h.
OptionRecord precision_option();
// tensor, pipeline, microbatches, zero, exchange, servers.
std::vector<OptionRecord> parallelism_options();

// The values of parallelism_options(); the replicas stay 1.
Result<Parallelism> parallelism_of(const OptionValues& options);
// Nothing for "auto".
std::optional<Precision> precision_of(std::string_view name);

}  // namespace orrery::workload
