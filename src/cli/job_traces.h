#pragma once
// Job traces and clusters of command lines, as `simulate` and `jobtrace` share them.

#include "cli/command.h"
#include "schedule/cluster_view.h"
#include "simulate/readers/reader.h"

namespace orrery::cli {

// --format, --speeds, --missing-speeds and --strict.
std::vector<OptionRecord> job_trace_options();

Result<simulate::JobTraceFile> load_job_trace(Context& context, const std::string& path, const OptionValues& options);
// `is_queue`: jobs as they wait and run now (ReadOptions::queue).
Result<simulate::JobTraceFile> load_job_trace(Context& context, const std::string& path, const OptionValues& options,
                                              bool is_queue);

// How many rows were skipped and why, for people.
std::string problems_text(const simulate::JobTraceFile& file, std::size_t shown);

struct ClusterChoice {
  schedule::Machines machines;
  std::string text;  // "32 machines with 8 GPUs"
  int gpus = 0;
  std::vector<std::string> devices;  // names of types, by MachineView::device; empty: not given
};
// "32x8": machines x GPUs; "V100=4x8,P100=2x4": of several types; or a cluster file.
Result<ClusterChoice> load_cluster(Context& context, const std::string& choice);

}  // namespace orrery::cli
