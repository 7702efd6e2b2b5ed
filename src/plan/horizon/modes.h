#pragma once
// From predicted places (job_times.h) to the modes of a task.

#include "plan/horizon/tariffs.h"
#include "plan/job_times.h"

namespace orrery::plan::horizon {

// Every place on every VM type that has it, with the time that is kept with probability `certainty`; on spot types
// expected interruptions are in all times. Left out: more machines than `nodes`, and places of a type on which the task
// would be as fast with fewer GPUs.
std::vector<Mode> modes_of(std::span<const PredictedConfiguration> configurations, const std::vector<VmType>& types,
                           int nodes, double certainty);

// Modes that are not beaten in both time and share of the price, as if every machine cost the mean of its periods.
// Others could only help by filling machines better. Modes on types in `limited` do not count as better.
std::vector<bool> useful_modes(const Task& task, const Tariff& tariff, const Grid& grid,
                               const std::vector<VmType>& types, const std::vector<bool>& limited);
// VM types with a useful mode of some task.
std::vector<bool> useful_types(const std::vector<Task>& tasks, const Tariff& tariff, const Grid& grid,
                               const std::vector<VmType>& types, const std::vector<bool>& limited);

}  // namespace orrery::plan::horizon
