#pragma once
// Batches of jobs for AlloX and Hydra, from files.

#include <string>
#include <vector>

#include "env/files.h"
#include "lab/lab.h"
#include "schedule/policies/batch_plan.h"

namespace orrery::lab {

struct MachineCount {
  std::string type;
  int count = 0;
};

// "A100=10,V100=20".
Result<std::vector<MachineCount>> parse_machine_counts(const std::string& text);

// CSV, packed or not: a column `ddl` with deadlines (seconds, or inf) and one with run times for every type of machine.
Result<schedule::BatchProblem> read_batch_problem(env::Files& files, const std::string& path,
                                                  const std::vector<MachineCount>& machines);

}  // namespace orrery::lab
