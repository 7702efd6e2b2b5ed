#pragma once
// The kinds of published_jobs.h with times that were measured instead of predicted.
//
// A folder has a table of runs for each kind (predict/evaluate/polimi_runs.h; JobKind::table). The time of a kind on g
// GPUs of a type is the median of the runs with its batch; numbers of GPUs that were not measured get a + b/g, with a,
// b ≥ 0 by least squares on the medians of a sample. A type of GPU with fewer than two measured numbers is left out.

#include "env/files.h"
#include "simulate/published_jobs.h"

namespace orrery::simulate {

// kInfeasible: a kind without any type of GPU of the market.
Result<std::vector<KindTimes>> measured_times(const plan::Market& market, env::Files& files, const std::string& folder);

// The medians of a sample by number of GPUs, and what is between and beyond them up to `gpus_max`.
// Precondition: two different numbers, all positive.
std::vector<double> filled_times(const std::map<int, double>& medians, int gpus_max);

}  // namespace orrery::simulate
