#include <fmt/format.h>
#include <map>

#include "base/statistics.h"
#include "base/text.h"
#include "service/dataset.h"
#include "service/profile_workers.h"

namespace orrery::service {

using profile::Job;
using profile::JobSet;
using profile::MeasuredJob;
using profile::Resource;

namespace {

constexpr Seconds kJobTimeMax(120);

// Every process with a network of its own.
Result<profile::LaunchReport> run_job(env::Env env, const Job& job) {
  profile::LaunchOptions launch;
  launch.form = job.form;
  launch.servers = job.servers;
  launch.workers = job.workers;
  launch.isolate = true;
  launch.rate = job.rate;
  launch.time_max = kJobTimeMax;
  WorkersQuestion question;
  ORRERY_TRY(question.trained, trained_fields().defaults());
  ORRERY_TRY(question.exchange, exchange_fields().defaults());
  question.trained.model = job.model;
  question.trained.batch = job.batch;
  question.workers = job.workers;
  question.exchange.form.give(job.form);
  question.exchange.mode.give(job.is_async ? profile::UpdateMode::kAsync : profile::UpdateMode::kSync);
  question.exchange.servers.give(std::max(1, job.servers));
  question.exchange.steps.give(static_cast<int>(job.steps));
  ORRERY_TRY(launch.argv, process_command(env, question));
  return profile::launch(env, launch);
}

}  // namespace

Result<profile::JobsReport> build_job_dataset(env::Env env, const DatasetJobsRequest& request, Watch& watch) {
  profile::JobsOptions how;
  how.count = request.count;
  if (request.time) how.time_max = *request.time;
  how.seed = request.seed;
  how.others = request.busy ? profile::Others::kIgnored : profile::Others::kWaitedFor;
  watch.begin("measuring", static_cast<std::int64_t>(request.count), "jobs");
  ORRERY_TRY(const profile::Workbench models, workbench(env));
  ORRERY_TRY(const std::string library, profile::library_name(models));
  const profile::JobBench bench{library, [&](const Job& job) { return run_job(env, job); }, models.speed_probe};
  std::optional<std::int64_t> earlier;
  const auto report = [&](std::size_t jobs) {
    const auto done = static_cast<std::int64_t>(jobs);
    if (!earlier) earlier = done - 1;
    watch.at(done, *earlier);
  };
  ORRERY_TRY(profile::JobsReport built, profile::build_jobs(env, request.file, how, bench, report));
  watch.finish();
  return built;
}

namespace {

std::string setting_of(const Job& job) {
  if (job.form == profile::DistributedForm::kAllReduce) return fmt::format("ring of {}", job.workers);
  return fmt::format("{} servers, {} workers, {}", job.servers, job.workers, job.is_async ? "async" : "sync");
}

// What decides how precisely the metrics could be measured.
std::string conditions_text(const JobSet& set) {
  std::vector<double> slowness, computing;
  for (const MeasuredJob& job : set.jobs) {
    slowness.push_back(job.slowness);
    computing.push_back(job.compute.value());
  }
  return fmt::format(
      "computing takes {} (median); the core was {:.1f} times slower than a quiet one (median), {:.1f} at most\n",
      format_seconds(Seconds(median(computing))), median(slowness), quantile(slowness, 1));
}

}  // namespace

DatasetSummary show_jobs(const JobSet& set) {
  std::map<std::string, std::vector<const MeasuredJob*>> settings;
  for (const MeasuredJob& job : set.jobs) settings[setting_of(job.job)].push_back(&job);
  Table table({{"setting", "setting"},
               {"jobs", "jobs", CellFormat::kInteger},
               {"step_s", "step", CellFormat::kSeconds},
               {"compute_s", "compute", CellFormat::kSeconds},
               {"memory_bytes", "memory", CellFormat::kBytes},
               {"cpu_burst_s", "cpu burst", CellFormat::kSeconds},
               {"cpu_cores", "cores", CellFormat::kNumber},
               {"receive_burst_s", "receive burst", CellFormat::kSeconds},
               {"transmit_burst_s", "transmit burst", CellFormat::kSeconds}});
  for (const auto& setting : settings) {
    const std::vector<const MeasuredJob*>& jobs = setting.second;
    const auto middle = [&](auto part) {
      std::vector<double> values;
      for (const MeasuredJob* job : jobs) values.push_back(part(*job));
      return median(values);
    };
    table.add({setting.first, static_cast<std::int64_t>(jobs.size()),
               middle([](const MeasuredJob& job) { return job.step.value(); }),
               middle([](const MeasuredJob& job) { return job.compute.value(); }),
               middle([](const MeasuredJob& job) { return job.of(Resource::kMemory).amount; }),
               middle([](const MeasuredJob& job) { return job.of(Resource::kProcessor).burst.value(); }),
               middle([](const MeasuredJob& job) { return job.of(Resource::kProcessor).amount; }),
               middle([](const MeasuredJob& job) { return job.of(Resource::kReceive).burst.value(); }),
               middle([](const MeasuredJob& job) { return job.of(Resource::kTransmit).burst.value(); })});
  }
  std::string text = fmt::format("{} data-parallel jobs, medians by setting\nmeasured on {}, {}, seed {}\n",
                                 set.jobs.size(), set.header.machine, set.header.library, set.header.seed);
  if (!set.jobs.empty()) text += conditions_text(set);
  return {text + "\n", std::move(table)};
}

}  // namespace orrery::service
