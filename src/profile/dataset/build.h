#pragma once
// Builds a data set: draws configurations, measures each, keeps what was measured.
//
// Procedure
// 1. Continue from the log beside the file, or from the file itself. A cut last line is dropped.
// 2. For each number from 0 on: draw a configuration; skip it if it was measured; wait until other processes leave the
//    machine alone (ten minutes at most); measure it, each step when the core is at its full speed. A measurement that
//    is noisy, or during which others used the machine, is repeated kRetries times at most; the least disturbed one is
//    kept and, if need be, marked noisy.
// 3. Append it to the log and sync, so that a kill loses at most the configuration being measured.
// 4. With `count` entries, or when time is up: pack the log into the file, atomically, and remove it.

#include <functional>

#include "env/env.h"
#include "profile/dataset/dataset_file.h"

namespace orrery::profile {

inline constexpr int kRetries = 2;

struct BuildOptions {
  std::size_t count = 800;
  Seconds time_max;  // 0: no limit
  std::uint64_t seed = 1;
  int threads = 1;
  Seconds per_configuration = Seconds(0.7);  // rounds stop after this
  ConfigurationLimits limits;
};

struct BuildReport {
  std::size_t entries = 0;   // in the file
  std::size_t measured = 0;  // now
  std::size_t noisy = 0;     // of the entries
  std::vector<std::string> failures;
};

// How configurations are run, and how slow the core is at the moment (core_probe.h; may be empty); tests give their
// own.
struct Workbench {
  std::function<Result<std::unique_ptr<Executor>>(const workload::TrainingRun&, const ExecutorOptions&)> make;
  std::function<double()> slowness{};
};

// `progress(entries)` is called after each one.
Result<BuildReport> build_dataset(env::Env env, const std::string& path, const BuildOptions& options,
                                  const Workbench& bench, const std::function<void(std::size_t)>& progress);

// One configuration, now.
Result<Profile> measure_configuration(env::Env env, const Configuration& configuration, int threads,
                                      Seconds per_configuration, const Workbench& bench);

// The processor, its cores and the memory of this machine.
std::string describe_machine(env::Files& files);

}  // namespace orrery::profile
