#include <fmt/format.h>
#include <map>

#include "base/statistics.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/dataset_commands.h"
#include "profile/jobs/build_jobs.h"
#include "service/profile_workers.h"

namespace orrery::cli {

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
  service::WorkersQuestion question;
  ORRERY_TRY(question.trained, service::trained_fields().defaults());
  ORRERY_TRY(question.exchange, service::exchange_fields().defaults());
  question.trained.model = job.model;
  question.trained.batch = job.batch;
  question.workers = job.workers;
  question.exchange.form.give(job.form);
  question.exchange.mode.give(job.is_async ? profile::UpdateMode::kAsync : profile::UpdateMode::kSync);
  question.exchange.servers.give(std::max(1, job.servers));
  question.exchange.steps.give(static_cast<int>(job.steps));
  ORRERY_TRY(launch.argv, service::process_command(env, question));
  return profile::launch(env, launch);
}

Status run_build(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  profile::JobsOptions how;
  how.count = static_cast<std::size_t>(options.integer("count"));
  if (options.has("time")) how.time_max = options.duration("time");
  how.seed = static_cast<std::uint64_t>(options.integer("seed"));
  Progress progress("measuring", options.integer("count"), progress_options(context.env, "jobs"));
  progress.begin();
  ORRERY_TRY(const profile::Workbench models, workbench(context.env));
  ORRERY_TRY(const std::string library, profile::library_name(models));
  const profile::JobBench bench{library, [&](const Job& job) { return run_job(context.env, job); }, models.speed_probe};
  ORRERY_TRY(const profile::JobsReport built,
             profile::build_jobs(context.env, arguments.words[0], how, bench,
                                 [&](std::size_t jobs) { advance_to(progress, jobs); }));
  progress.finish();
  context.print(fmt::format("{}: {} jobs, {} of them now\n", arguments.words[0], built.jobs, built.now));
  for (const std::string& failure : built.failures) context.print(fmt::format("left out: {}\n", failure));
  return {};
}

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

Status show_jobs(Context& context, const JobSet& set, const OptionValues& options) {
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
  if (for_people(options)) {
    context.print(fmt::format("{} data-parallel jobs, medians by setting\nmeasured on {}, {}, seed {}\n",
                              set.jobs.size(), set.header.machine, set.header.library, set.header.seed));
    if (!set.jobs.empty()) context.print(conditions_text(set));
    context.print("\n");
  }
  return context.print_table(table, options);
}

Command dataset_jobs_command() {
  return {"dataset jobs",
          "FILE",
          1,
          1,
          "run random data-parallel jobs and record their processor, memory and network utilisation",
          {integer_option("count", 240, "jobs that the file should hold").bounds(1, 1e6),
           optional_duration("time", "stop after this time; running the same command again continues"),
           integer_option("seed", 1, "seed of the jobs").bounds(0, 1e15)},
          {"orrery dataset jobs jobs.dataset", "orrery dataset jobs jobs.dataset --count 400 --time 1h"},
          run_build};
}

}  // namespace orrery::cli
