#pragma once
// Builds a data set: draws configurations, measures each, keeps what was measured.
//
// Procedure
// 1. Continue from the log beside the file, or from the file itself. A cut last line is dropped.
// 2. Read the speed probe for a while to know a quiet core, unless the file has its reading.
// 3. For each number from 0 on: draw a configuration; skip it if it was measured; visit it.
// 4. With `count` entries: visit them all again, round after round, until each has `visits`. The visits
//    of one configuration are minutes apart, so what disturbs one does not disturb the next.
// 5. When all are visited, or time is up: pack the log into the file, atomically, and remove it.
// A visit waits until other processes leave the machine alone (ten minutes at most) and is made again, kRetries times
// at most, if they did not; with Others::kIgnored it does neither. It is appended to the log and synced, so that a kill loses at most the visit being made.

#include <functional>

#include "env/env.h"
#include "profile/dataset/dataset_file.h"
#include "profile/idle_check.h"

namespace orrery::profile {

inline constexpr int kRetries = 2;

struct BuildOptions {
  std::size_t count = 800;
  std::size_t visits = 3;
  Seconds time_max;  // 0: no limit; no visit begins later, also if the machine was never idle
  std::uint64_t seed = 1;
  int threads = 1;
  Others others = Others::kWaitedFor;
  ConfigurationLimits limits;
};

struct BuildReport {
  std::size_t entries = 0;    // in the file
  std::size_t visits = 0;     // now
  std::size_t disturbed = 0;  // of these visits: other processes used the machine during them
  std::size_t noisy = 0;      // of the entries
  std::vector<std::string> failures;
};

// How configurations are run, and the speed probe (may be none); tests give their own.
struct Workbench {
  std::function<Result<std::unique_ptr<Executor>>(const workload::TrainingRun&, const ExecutorOptions&)> make;
  std::shared_ptr<SpeedProbe> speed_probe{};
};

// `progress(visits)`, those now and earlier, is called after each.
Result<BuildReport> build_dataset(env::Env env, const std::string& path, const BuildOptions& options,
                                  const Workbench& bench, const std::function<void(std::size_t)>& progress);

struct Visit {
  Profile profile;
  bool is_disturbed = false;  // other processes used the machine during it
};

// One configuration, now, with the threads and the quiet core of `header`. After time.may_begin(); what others disturbed
// is tried again.
Result<Visit> visit(env::Env env, const Configuration& configuration, const DatasetHeader& header,
                    const Workbench& bench, const MeasuringTime& time);

// What runs the models.
Result<std::string> library_name(const Workbench& bench);
// The processor, its cores and the memory of this machine.
std::string describe_machine(env::Files& files);

}  // namespace orrery::profile
