#include "profile/jobs/build_jobs.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

#include "env/clock.h"
#include "profile/dataset/build.h"
#include "profile/line_log.h"

namespace orrery::profile {

namespace {

constexpr Seconds kQuietTime(5), kReadTime(0.1);

std::string all_lines(const JobSet& set) {
  std::string lines = header_line(set.header);
  for (const MeasuredJob& job : set.jobs) lines += job_line(job);
  return lines;
}

Result<JobSet> earlier_jobs(const LineLog& log, const JobsHeader& header, const std::string& path) {
  if (log.is_new()) return JobSet{header, {}};
  ORRERY_TRY(const LineLog::Earlier earlier, log.earlier(kJobsMax));
  auto set = parse_jobs(earlier.lines, earlier.is_log);
  if (!set) return std::move(set).error().with_context(earlier.source);
  if (!set->header.is_same_bench(header)) {
    return Error::invalid(fmt::format("{} was measured on \"{}\", {}, seed {}; give another file", path,
                                      set->header.machine, set->header.library, set->header.seed));
  }
  return set;
}

// The core's slowness over a moment, on average.
double read_slowness(env::Env env, const JobBench& bench, const CoreReading& quiet) {
  if (!bench.speed_probe) return 1;
  double sum = 0;
  int count = 0;
  const Seconds start = env.clock.monotonic();
  do {
    sum += slowness(bench.speed_probe->read(), quiet);
    ++count;
  } while (env.clock.monotonic() - start < kReadTime);
  return sum / count;
}

Result<MeasuredJob> measure_job(env::Env env, const Job& job, const CoreReading& quiet, const JobBench& bench) {
  const double before = read_slowness(env, bench, quiet);
  ORRERY_TRY(const LaunchReport report, bench.run(job));
  const double after = read_slowness(env, bench, quiet);
  return measured_job(job, report, (before + after) / 2);
}

}  // namespace

Result<JobsReport> build_jobs(env::Env env, const std::string& path, const JobsOptions& options, const JobBench& bench,
                              const std::function<void(std::size_t)>& progress) {
  constexpr std::uint64_t kMostNumbers = 1'000'000;
  LineLog log(env.files, path);
  JobsHeader header{describe_machine(env.files), bench.library, options.seed};
  if (bench.speed_probe && log.is_new()) header.quiet = quiet_reading(*bench.speed_probe, env.clock, kQuietTime);
  ORRERY_TRY(JobSet set, earlier_jobs(log, header, path));
  ORRERY_TRY_VOID(log.start(all_lines(set)));
  std::set<std::string> keys;
  for (const MeasuredJob& job : set.jobs) keys.insert(job.job.key());

  JobsReport report;
  MeasuringTime time(env, options.others, options.time_max);
  for (std::uint64_t number = 0; set.jobs.size() < options.count && number < kMostNumbers; ++number) {
    ORRERY_TRY(const Job job, draw_job(options.seed, number));
    if (!keys.insert(job.key()).second) continue;
    if (!time.may_begin()) break;
    const auto measured = measure_job(env, job, set.header.quiet, bench);
    if (!measured) {
      report.failures.push_back(job.key() + ": " + measured.error().to_string());
      continue;
    }
    set.jobs.push_back(*measured);
    ORRERY_TRY_VOID(log.append(job_line(*measured)));
    ++report.now;
    if (!time.found_idle()) ++report.disturbed;
    if (progress) progress(set.jobs.size());
  }
  report.jobs = set.jobs.size();
  ORRERY_TRY_VOID(log.finish(all_lines(set)));
  return report;
}

}  // namespace orrery::profile
