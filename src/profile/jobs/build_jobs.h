#pragma once
// Builds a set of jobs: draws them, runs each in real processes, keeps what the first worker used.
//
// Procedure
// 1. Continue from the log beside the file, or from the file itself (line_log.h).
// 2. For each number from 0 on: draw a job; skip it if it was measured; wait until other processes leave the machine
//    alone (ten minutes at most, not at all with Others::kIgnored); read the speed probe, run the job, read the speed probe.
// 3. When there are enough, or time is up: pack the log into the file.

#include <functional>

#include "env/env.h"
#include "profile/idle_check.h"
#include "profile/jobs/job_file.h"

namespace orrery::profile {

struct JobsOptions {
  std::size_t count = 240;
  Seconds time_max{};  // 0: no limit
  std::uint64_t seed = 1;
  Others others = Others::kWaitedFor;
};

struct JobsReport {
  std::size_t jobs = 0;  // in the file
  std::size_t now = 0;
  std::size_t disturbed = 0;  // of those now: other processes used the machine when it began
  std::vector<std::string> failures;
};

struct JobBench {
  std::string library;  // what runs the models
  std::function<Result<LaunchReport>(const Job&)> run;
  std::shared_ptr<SpeedProbe> speed_probe{};  // may be none
};

// `progress(jobs)`, those now and earlier, is called after each.
Result<JobsReport> build_jobs(env::Env env, const std::string& path, const JobsOptions& options, const JobBench& bench,
                              const std::function<void(std::size_t)>& progress);

}  // namespace orrery::profile
