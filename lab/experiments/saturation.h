#pragma once
// How much of a cluster's GPUs nobody can use once it is full: tasks drawn from a list of real ones come until they
// have asked for more than there is; nobody leaves. The rules that place them are those of
// lab/experiments/fraction_cluster.h.

#include <string>
#include <vector>

#include "base/result.h"
#include "base/table.h"
#include "env/files.h"
#include "lab/experiments/fraction_cluster.h"
#include "lab/lab.h"

namespace orrery::lab {

struct SaturationInput {
  std::vector<FractionMachine> machines{};
  std::vector<FractionTask> tasks{};  // drawn with replacement
};

// Files of the Alibaba GPU 2023 trace, packed or not: machines (sn, cpu_milli, memory_mib, gpu, model) and pods (name,
// cpu_milli, memory_mib, num_gpu, gpu_milli, gpu_spec).
Result<SaturationInput> read_saturation(env::Files& files, const std::string& machines, const std::string& pods);

struct SaturationOptions {
  std::vector<std::string> rules = {"first-fit", "best-fit", "fgd"};
  std::vector<double> demands = {1.0, 1.1, 1.2, 1.3};  // GPUs asked for by then, of those there are
  int seeds = 3;
  int moves_max = 200;  // after the last demand, of tasks; 0: none
  int threads = 1;
};

struct SaturationRun {
  std::string rule;
  std::uint64_t seed = 0;
  std::vector<double> unallocated;  // share of all GPUs, by demand
  int moves = 0;
  double after_moves = 0;  // share unallocated when those who had no room have tried again
};

Result<std::vector<SaturationRun>> run_saturation(const SaturationInput& input, const SaturationOptions& options);

// A row for each rule: means over seeds, and how much less is unallocated than with best-fit at the last demand,
// without moves and with them.
Table to_table(const std::vector<SaturationRun>& runs, const SaturationOptions& options);

}  // namespace orrery::lab
