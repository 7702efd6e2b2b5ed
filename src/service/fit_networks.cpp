#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "env/clock.h"
#include "predict/neural/ets_network_model.h"
#include "predict/readers/gpu_iterations.h"
#include "predict/readers/resource_examples.h"
#include "predict/regression/run_facts.h"
#include "profile/jobs/job_file.h"
#include "service/fit_forms.h"

namespace orrery::service {

namespace {

// How a network is trained, from the options that all networks share.
struct NetworkTraining {
  std::uint64_t steps = 0;
  predict::TrainingWatch watch{};
};

// Steps are reported to `watch`, which must outlive the training. The checkpoint that is kept is DIR/`name`.training.
Result<NetworkTraining> network_training(env::Env env, const FitRequest& request, std::uint64_t own_steps,
                                         const std::string& name, Watch& watch) {
  NetworkTraining training;
  training.steps = request.steps > 0 ? request.steps : own_steps;
  training.watch.now_s = [clock = &env.clock] { return clock->monotonic().value(); };
  if (request.time_limit) training.watch.seconds_max = request.time_limit->value();
  watch.begin("training", static_cast<std::int64_t>(training.steps), "steps");
  training.watch.progress = [&watch](std::uint64_t done) { watch.at(static_cast<std::int64_t>(done)); };
  if (request.keep.empty()) return training;
  ORRERY_TRY_VOID(env.files.make_directory(request.keep));
  training.watch.files = &env.files;
  training.watch.checkpoint = fmt::format("{}/{}.training", request.keep, name);
  return training;
}

// A training that is over needs no checkpoint; one that ran out of time goes on from it.
Status drop_checkpoint(env::Env env, const NetworkTraining& training, std::uint64_t steps, Watch& watch) {
  const std::string& path = training.watch.checkpoint;
  if (path.empty()) return {};
  if (steps < training.steps) {
    watch.note(fmt::format("{} of {} steps; the same command goes on from {}", steps, training.steps, path));
    return {};
  }
  return env.files.exists(path) ? env.files.remove(path) : Status{};
}

void say_skipped(Watch& watch, const std::vector<std::string>& skipped) {
  constexpr std::size_t kMost = 20;
  for (std::size_t i = 0; i < std::min(kMost, skipped.size()); ++i) {
    watch.note("skipped " + skipped[i]);
  }
  if (skipped.size() > kMost) {
    watch.note(fmt::format("skipped {} more", skipped.size() - kMost));
  }
}

Result<predict::EtsLessons> read_ets_lessons(env::Env env, const FitRequest& request) {
  const std::string& source = request.source;
  env::Files& files = env.files;
  if (!is_trace_folder(files, source)) {
    ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(files, source));
    return predict::ets_lessons(dataset);
  }
  ORRERY_TRY_VOID(check_device(request));
  return predict::gpu_ets_lessons(files, source, request.device);
}

// "form=allreduce,workers=2,rate=50000000": jobs with these values only.
Result<std::function<bool(const profile::Job&)>> job_filter(const FitRequest& request) {
  const std::vector<std::string>& parts = request.setting;
  const std::string option = request.names("setting");
  auto parsed = predict::parse_facts(parts);
  if (!parsed) return std::move(parsed).error().with_context(option);
  for (const auto& [name, value] : *parsed) {
    const std::vector<std::string> known = {"form", "mode", "servers", "workers", "rate"};
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Error::invalid(fmt::format("{}: unknown field {}{}; there are form, mode, servers, workers and rate",
                                        option, quote(name), did_you_mean(name, known)));
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

Result<predict::ResourceSet> read_resource_set(env::Env env, const FitRequest& request) {
  const std::string& source = request.source;
  env::Files& files = env.files;
  std::optional<predict::OpFrequencies> frequencies;
  if (!request.frequencies.empty()) {
    ORRERY_TRY(frequencies, predict::OpFrequencies::read(files, request.frequencies));
  }
  if (files.exists(source + "/" + predict::kLayerRunFiles[0])) {
    return predict::read_layer_set(files, source, frequencies);
  }
  if (profile::is_job_set(files, source)) {
    ORRERY_TRY(const profile::JobSet jobs, profile::read_jobs(files, source));
    ORRERY_TRY(const auto is_wanted, job_filter(request));
    return predict::job_resource_set(jobs, is_wanted, frequencies);
  }
  constexpr Bytes kTableMax = mebibytes(256);
  ORRERY_TRY(const std::string csv, files.read(source, kTableMax));
  return predict::parse_resource_table(csv, source, frequencies);
}

}  // namespace

Result<FitAnswer> fit_ets_form(env::Env env, const FitRequest& request, Watch& watch) {
  constexpr std::uint64_t kOwnSteps = 2000;
  predict::SequenceOptions form = request.sequence;
  form.seed = request.seed;
  form.threads = 1;  // a recurrence is many small products: several threads would only wait for each other
  ORRERY_TRY_VOID(predict::validate(form));
  ORRERY_TRY(const predict::EtsLessons lessons, read_ets_lessons(env, request));
  say_skipped(watch, lessons.skipped);
  ORRERY_TRY(const NetworkTraining training, network_training(env, request, kOwnSteps, lessons.machine.device, watch));
  form.steps = training.steps;
  auto fitted = predict::fit_ets_network(lessons, form, training.watch);
  if (!fitted) return std::move(fitted).error().with_context(request.source);
  watch.finish();
  const std::string bytes = predict::to_bytes(*fitted);
  ORRERY_TRY_VOID(env.files.write_atomically(request.out, bytes));
  ORRERY_TRY_VOID(drop_checkpoint(env, training, fitted->weights.training.steps, watch));
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
  table.add({request.out, static_cast<std::int64_t>(fitted->weights.traces), fitted->machine.device,
             fitted->machine.name, static_cast<std::int64_t>(fitted->weights.training.steps),
             fitted->weights.training.seconds, static_cast<std::int64_t>(fitted->left_out), fitted->error, interval.low,
             interval.high, static_cast<double>(bytes.size())});
  return FitAnswer{std::move(table), {}};
}

Result<FitAnswer> fit_driple_form(env::Env env, const FitRequest& request, Watch& watch) {
  constexpr std::uint64_t kOwnSteps = 3000;
  ORRERY_TRY(const predict::ResourceSet set, read_resource_set(env, request));
  predict::ResourceNetworkOptions form = request.network;
  form.seed = request.seed;
  form.threads = 1;  // batches of small graphs: several threads would only wait for each other
  ORRERY_TRY(const NetworkTraining training, network_training(env, request, kOwnSteps, "driple", watch));
  form.steps = training.steps;
  auto fitted = predict::fit_resources(set, form, training.watch);
  if (!fitted) return std::move(fitted).error().with_context(request.source);
  watch.finish();
  const std::string bytes = predict::to_bytes(*fitted);
  ORRERY_TRY_VOID(env.files.write_atomically(request.out, bytes));
  ORRERY_TRY_VOID(drop_checkpoint(env, training, fitted->steps, watch));
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
    table.add({request.out, fitted->metrics[i].name, fitted->metrics[i].unit, fitted->errors[i], interval.low,
               interval.high, static_cast<std::int64_t>(fitted->runs), static_cast<std::int64_t>(fitted->left_out),
               static_cast<std::int64_t>(fitted->steps), static_cast<double>(bytes.size())});
  }
  return FitAnswer{std::move(table), {}};
}

}  // namespace orrery::service
