#include <algorithm>
#include <fmt/format.h>
#include <optional>

#include "base/table.h"
#include "base/text.h"
#include "cli/fit_forms.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/terminal.h"
#include "predict/neural/ets_network_model.h"
#include "predict/readers/gpu_iterations.h"
#include "predict/readers/resource_examples.h"
#include "predict/regression/run_facts.h"
#include "profile/jobs/job_file.h"
#include "service/network_fields.h"

namespace orrery::cli {

namespace {

// How a network is trained, from the options that all networks share.
struct NetworkTraining {
  std::uint64_t steps = 0;
  predict::TrainingWatch watch{};
};

// Counts steps on `progress`, which must outlive the training. With --keep the checkpoint is DIR/`name`.training.
Result<NetworkTraining> network_training(Context& context, const OptionValues& options, std::uint64_t own_steps,
                                         const std::string& name, std::optional<Progress>& progress) {
  NetworkTraining training;
  const auto given = static_cast<std::uint64_t>(options.integer("steps"));
  training.steps = given > 0 ? given : own_steps;
  training.watch.now_s = [clock = &context.env.clock] { return clock->monotonic().value(); };
  if (options.has("time-limit")) training.watch.seconds_max = options.duration("time-limit").value();
  progress.emplace("training", static_cast<std::int64_t>(training.steps), progress_options(context.env, "steps"));
  progress->begin();
  training.watch.progress = [&progress](std::uint64_t done) {
    progress->advance(static_cast<std::int64_t>(done) - progress->done());
  };
  if (options.text("keep").empty()) return training;
  ORRERY_TRY_VOID(context.env.files.make_directory(options.text("keep")));
  training.watch.files = &context.env.files;
  training.watch.checkpoint = fmt::format("{}/{}.training", options.text("keep"), name);
  return training;
}

// A training that is over needs no checkpoint; one that ran out of time goes on from it.
Status drop_checkpoint(Context& context, const NetworkTraining& training, std::uint64_t steps) {
  const std::string& path = training.watch.checkpoint;
  if (path.empty()) return {};
  if (steps < training.steps) {
    context.env.terminal.write_error(
        fmt::format("{} of {} steps; the same command goes on from {}\n", steps, training.steps, path));
    return {};
  }
  return context.env.files.exists(path) ? context.env.files.remove(path) : Status{};
}

void say_skipped(Context& context, const std::vector<std::string>& skipped) {
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < std::min(kMost, skipped.size()); ++i) {
    context.env.terminal.write_error("skipped " + skipped[i] + "\n");
  }
  if (skipped.size() > kMost) {
    context.env.terminal.write_error(fmt::format("skipped {} more\n", skipped.size() - kMost));
  }
}

Result<predict::EtsLessons> read_ets_lessons(Context& context, const Arguments& arguments) {
  const std::string& source = arguments.words[0];
  env::Files& files = context.env.files;
  if (!is_trace_folder(files, source)) {
    ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(files, source));
    return predict::ets_lessons(dataset);
  }
  ORRERY_TRY_VOID(check_device(arguments.options));
  return predict::gpu_ets_lessons(files, source, arguments.options.text("device"));
}

// "form=allreduce,workers=2,rate=50000000": jobs with these values only.
Result<std::function<bool(const profile::Job&)>> job_filter(const std::vector<std::string>& parts) {
  auto parsed = predict::parse_facts(parts);
  if (!parsed) return std::move(parsed).error().with_context("--setting");
  for (const auto& [name, value] : *parsed) {
    const std::vector<std::string> known = {"form", "mode", "servers", "workers", "rate"};
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Error::invalid(
          fmt::format("--setting: unknown field {}{}; there are form, mode, servers, workers and rate", quote(name),
                      did_you_mean(name, known)));
    }
  }
  return std::function<bool(const profile::Job&)>([wanted = std::move(*parsed)](const profile::Job& job) {
    const bool is_ring = job.form == profile::DistributedForm::kAllReduce;
    const predict::RunFacts facts = {{"form", std::string(is_ring ? "allreduce" : "ps")},
                                     {"mode", std::string(job.is_async ? "async" : "sync")},
                                     {"servers", static_cast<double>(job.servers)},
                                     {"workers", static_cast<double>(job.workers)},
                                     {"rate", job.rate.value()}};
    return std::all_of(wanted.begin(), wanted.end(),
                       [&](const auto& one) { return facts.find(one.first)->second == one.second; });
  });
}

Result<predict::ResourceSet> read_resource_set(Context& context, const Arguments& arguments) {
  const std::string& source = arguments.words[0];
  const OptionValues& options = arguments.options;
  env::Files& files = context.env.files;
  std::optional<predict::OpFrequencies> frequencies;
  if (!options.text("frequencies").empty()) {
    ORRERY_TRY(frequencies, predict::OpFrequencies::read(files, options.text("frequencies")));
  }
  if (files.exists(source + "/" + predict::kLayerRunFiles[0])) {
    return predict::read_layer_set(files, source, frequencies);
  }
  if (profile::is_job_set(files, source)) {
    ORRERY_TRY(const profile::JobSet jobs, profile::read_jobs(files, source));
    ORRERY_TRY(const auto is_wanted, job_filter(options.texts("setting")));
    return predict::job_resource_set(jobs, is_wanted, frequencies);
  }
  constexpr Bytes kTableMax = mebibytes(256);
  ORRERY_TRY(const std::string csv, files.read(source, kTableMax));
  return predict::parse_resource_table(csv, source, frequencies);
}

}  // namespace

Status fit_ets_form(Context& context, const Arguments& arguments) {
  constexpr std::uint64_t kOwnSteps = 2000;
  const OptionValues& options = arguments.options;
  ORRERY_TRY(predict::SequenceOptions form, service::sequence_fields().read(options));
  form.seed = static_cast<std::uint64_t>(options.integer("seed"));
  form.threads = 1;  // a recurrence is many small products: several threads would only wait for each other
  ORRERY_TRY_VOID(predict::validate(form));
  ORRERY_TRY(const predict::EtsLessons lessons, read_ets_lessons(context, arguments));
  say_skipped(context, lessons.skipped);
  std::optional<Progress> progress;
  ORRERY_TRY(const NetworkTraining training,
             network_training(context, options, kOwnSteps, lessons.machine.device, progress));
  form.steps = training.steps;
  auto fitted = predict::fit_ets_network(lessons, form, training.watch);
  if (!fitted) return std::move(fitted).error().with_context(arguments.words[0]);
  progress->finish();
  const std::string bytes = predict::to_bytes(*fitted);
  ORRERY_TRY_VOID(context.env.files.write_atomically(options.text("out"), bytes));
  ORRERY_TRY_VOID(drop_checkpoint(context, training, fitted->weights.training.steps));
  Table table({{"model", "model"},
               {"iterations", "iterations", CellFormat::kInteger},
               {"device", "device"},
               {"machine", "machine"},
               {"steps", "steps", CellFormat::kInteger},
               {"training_s", "training", CellFormat::kSeconds},
               {"left_out", "left out", CellFormat::kInteger},
               {"error", "mean error on those left out", CellFormat::kPercent},
               {"low", "interval, from", CellFormat::kNumber},
               {"high", "to", CellFormat::kNumber},
               {"bytes", "size", CellFormat::kBytes}});
  const predict::Interval interval = fitted->intervals.interval(1, "");
  table.add({options.text("out"), static_cast<std::int64_t>(fitted->weights.traces), fitted->machine.device,
             fitted->machine.name, static_cast<std::int64_t>(fitted->weights.training.steps),
             fitted->weights.training.seconds, static_cast<std::int64_t>(fitted->left_out), fitted->error, interval.low,
             interval.high, static_cast<double>(bytes.size())});
  return context.print_table(table, options);
}

Status fit_driple_form(Context& context, const Arguments& arguments) {
  constexpr std::uint64_t kOwnSteps = 3000;
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const predict::ResourceSet set, read_resource_set(context, arguments));
  ORRERY_TRY(predict::ResourceNetworkOptions form, service::resource_network_fields().read(options));
  form.seed = static_cast<std::uint64_t>(options.integer("seed"));
  form.threads = 1;  // batches of small graphs: several threads would only wait for each other
  std::optional<Progress> progress;
  ORRERY_TRY(const NetworkTraining training, network_training(context, options, kOwnSteps, "driple", progress));
  form.steps = training.steps;
  auto fitted = predict::fit_resources(set, form, training.watch);
  if (!fitted) return std::move(fitted).error().with_context(arguments.words[0]);
  progress->finish();
  const std::string bytes = predict::to_bytes(*fitted);
  ORRERY_TRY_VOID(context.env.files.write_atomically(options.text("out"), bytes));
  ORRERY_TRY_VOID(drop_checkpoint(context, training, fitted->steps));
  Table table({{"model", "model"},
               {"metric", "metric"},
               {"unit", "unit"},
               {"error", "RMSE / range of runs left out", CellFormat::kNumber},
               {"low", "interval, from", CellFormat::kNumber},
               {"high", "to", CellFormat::kNumber},
               {"runs", "runs", CellFormat::kInteger},
               {"left_out", "left out", CellFormat::kInteger},
               {"steps", "steps", CellFormat::kInteger},
               {"bytes", "size", CellFormat::kBytes, false}});
  for (std::size_t i = 0; i < fitted->metrics.size(); ++i) {
    const predict::Interval interval = fitted->intervals.interval(1, fitted->metrics[i].name);
    table.add({options.text("out"), fitted->metrics[i].name, fitted->metrics[i].unit, fitted->errors[i], interval.low,
               interval.high, static_cast<std::int64_t>(fitted->runs), static_cast<std::int64_t>(fitted->left_out),
               static_cast<std::int64_t>(fitted->steps), static_cast<double>(bytes.size())});
  }
  return context.print_table(table, options);
}

}  // namespace orrery::cli
