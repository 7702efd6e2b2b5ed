#pragma once
// Reads a folder of published launch traces: index.csv, op_names.csv and GPU__FAMILY.tsv.xz, each with many traces.
// A trace begins with `#id <tab> rows <tab> first_start_ns`; a row is
//   kind, phase (1 to 3), kernels, flops, bytes, grid, block, parameters joined by ':', device_ns, gap_ns,
//   interval_ns, launch_ns
// A negative gap means that kernels ran side by side with the next operator's: it is taken off the device's time.

#include <map>

#include "env/files.h"
#include "predict/ets/launch_trace.h"
#include "predict/ets/work.h"

namespace orrery::predict {

struct LaunchTraces {
  std::map<std::int32_t, std::string> kinds;  // their names
  std::vector<LaunchTrace> traces;

  WorkClass class_of(std::int32_t kind) const;
};

// `gpu` as in the folder's index; an error names the file and line.
Result<LaunchTraces> read_launch_traces(env::Files& files, const std::string& folder, const std::string& gpu);
// The GPUs in the folder's index, sorted.
Result<std::vector<std::string>> gpus_of(env::Files& files, const std::string& folder);

// Which of the folds of configurations drawn at random a trace is in. The same trace is always in the same fold, so
// suites that leave out a fold can be compared.
inline constexpr std::uint64_t kConfigurationFolds = 5;
std::uint64_t configuration_fold(const LaunchTrace& trace, std::uint64_t seed);

}  // namespace orrery::predict
