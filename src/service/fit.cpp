#include "service/fit.h"

#include <fmt/format.h>

#include "base/text.h"
#include "predict/jobs/job_utilisation_model.h"
#include "predict/measured/measured_model.h"
#include "predict/operators/operator_model.h"
#include "predict/readers/gpu_iterations.h"
#include "predict/readers/operator_folder.h"
#include "profile/jobs/job_file.h"
#include "service/fit_forms.h"
#include "service/network_fields.h"
#include "service/predictors.h"

namespace orrery::service {

namespace {

constexpr FitForm kForms[] = {FitForm::kAuto, FitForm::kMeasured,   FitForm::kLaunches,   FitForm::kOperators,
                              FitForm::kJobs, FitForm::kEtsNetwork, FitForm::kRegression, FitForm::kDriple};

}  // namespace

std::string_view to_string(FitForm form) {
  switch (form) {
    case FitForm::kAuto:
      return "auto";
    case FitForm::kMeasured:
      return "measured";
    case FitForm::kLaunches:
      return "launches";
    case FitForm::kOperators:
      return "operators";
    case FitForm::kJobs:
      return "jobs";
    case FitForm::kEtsNetwork:
      return "ets-network";
    case FitForm::kRegression:
      return "regression";
    case FitForm::kDriple:
      return "driple";
  }
  return "";
}

const Fields<FitRequest>& fit_fields() {
  using F = FitRequest;
  static const auto kFields =
      Fields<F>()
          .add(&F::source, text_option("source", "", "measurements to learn from").in("SOURCE").required().word())
          .add(&F::out, text_option("out", "orrery.model", "model file to write").in("FILE"))
          .add(&F::form,
               choice_option(
                   "form", "auto",
                   {"auto", "measured", "launches", "operators", "jobs", "ets-network", "regression", "driple"},
                   "the form says what is learned; auto takes it from the source (measured from a data set, "
                   "launches from traces)"),
               named_values(kForms))
          .add(&F::device, text_option("device", "",
                                       "the GPU of a folder of traces to learn, or the device that the table of a "
                                       "regression was measured on")
                               .in("NAME"))
          .add(&F::seed,
               integer_option("seed", 1, "seed of every random choice; a regression has its own seed in its file")
                   .bounds(0, 1'000'000'000))
          .add(&F::threads,
               integer_option("threads", 2, "threads that fit the model; a network is trained by one").bounds(1, 1024))
          .add(&F::steps, integer_option("steps", 0,
                                         "steps of the training of a network; 0: 2000 for ets-network, 3000 for driple")
                              .bounds(0, 1e9))
          .add(&F::time_limit, optional_duration("time-limit",
                                                 "the training of a network ends after this time, and its file is "
                                                 "written"))
          .add(&F::keep, text_option("keep", "",
                                     "folder for the checkpoint of a network's training; a killed training continues "
                                     "from it")
                             .in("DIR"))
          .add(&F::time_of, choice_option("time-of", "step", {"step", "run"},
                                          "the target of a regression is the time of a step or of a whole run"))
          .add(&F::unit,
               choice_option("unit", "auto", {"auto", "s", "ms", "us", "min", "h"},
                             "the target of a regression has this unit; auto reads it from the name, as in step_ms"))
          .add(&F::model,
               text_option("model", "",
                           "the table of a regression measured this model; others are then outside the domain")
                   .in("NAME"))
          .add(&F::frequencies, text_option("frequencies", "",
                                            "the CSV lists operators and their shares for driple; without it the "
                                            "shares come from the graphs")
                                    .in("FILE"))
          .add(&F::setting, text_option("setting", "",
                                        "driple learns only from jobs of a set that have these values of form, mode, "
                                        "servers, workers or rate")
                                .list()
                                .in("FIELD=VALUE"))
          .add(&F::sequence, sequence_fields())
          .add(&F::network, resource_network_fields());
  return kFields;
}

bool is_trace_folder(env::Files& files, const std::string& source) {
  return files.exists(source + "/index.csv");
}

Status check_device(const FitRequest& request) {
  if (!request.device.empty()) return {};
  return Error::invalid(fmt::format("give {}: which GPU of the folder's index", request.names("device")));
}

namespace {

// A data set of this tool, or one GPU of a folder of launch traces.
Result<predict::MeasuredSet> read_measured(env::Env env, const FitRequest& request, Watch& watch) {
  const std::string& source = request.source;
  env::Files& files = env.files;
  if (!is_trace_folder(files, source)) {
    ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(files, source));
    return predict::measured_set(dataset);
  }
  ORRERY_TRY_VOID(check_device(request));
  ORRERY_TRY(predict::GpuIterations found, predict::gpu_iterations(files, source, request.device));
  for (const std::string& skipped : found.skipped) watch.note("skipped " + skipped);
  return std::move(found.set);
}

Result<FitAnswer> fit_operators(env::Env env, const FitRequest& request, Watch& watch) {
  const predict::EnsembleOptions how = predict::operator_options(request.seed, request.threads);
  watch.begin("learning", static_cast<std::int64_t>(predict::kOperatorClasses.size()), "classes of operators");
  ORRERY_TRY(std::vector<predict::OperatorWork> classes, predict::read_operator_work(env.files, request.source));
  std::int64_t operators = 0, fitted = 0;
  for (const predict::OperatorWork& work : classes) operators += static_cast<std::int64_t>(work.rows.size());
  ORRERY_TRY(const predict::OperatorModel model,
             predict::OperatorModel::fit(std::move(classes), how, [&] { watch.at(++fitted); }));
  watch.finish();
  const std::string bytes = model.to_bytes();
  ORRERY_TRY_VOID(env.files.write_atomically(request.out, bytes));
  Table table({{"model", "model"},
               {"operators", "operators", CellFormat::kInteger},
               {"devices", "devices", CellFormat::kInteger},
               {"ratio_low", "interval of a new device, from"},
               {"ratio_high", "to"},
               {"bytes", "size", CellFormat::kBytes}});
  table.add({request.out, operators, static_cast<std::int64_t>(model.devices().size()), model.ratios().low,
             model.ratios().high, static_cast<double>(bytes.size())});
  return FitAnswer{std::move(table), {}};
}

Result<FitAnswer> fit_device(env::Env env, const FitRequest& request, Watch& watch) {
  watch.begin("learning", predict::kFits, "fits");
  predict::FitOptions how;
  how.seed = request.seed;
  how.threads = request.threads;
  how.progress = [&](int fits) { watch.at(fits); };
  ORRERY_TRY(const predict::MeasuredSet set, read_measured(env, request, watch));
  auto fitted = predict::fit_measured(set, how);
  if (!fitted) return std::move(fitted).error().with_context(request.source);
  const predict::MeasuredModel& model = *fitted;
  watch.finish();
  const std::string bytes = predict::to_bytes(model);
  ORRERY_TRY_VOID(env.files.write_atomically(request.out, bytes));
  Table table({{"model", "model"},
               {"iterations", "iterations", CellFormat::kInteger},
               {"device", "device"},
               {"machine", "machine"},
               {"error", "mean error on those left out", CellFormat::kPercent},
               {"bytes", "size", CellFormat::kBytes}});
  table.add({request.out, static_cast<std::int64_t>(model.iterations), model.machine.device, model.machine.name,
             model.error, static_cast<double>(bytes.size())});
  return FitAnswer{std::move(table), {}};
}

Result<FitAnswer> fit_jobs(env::Env env, const FitRequest& request, Watch& watch) {
  ORRERY_TRY(const profile::JobSet set, profile::read_jobs(env.files, request.source));
  ORRERY_TRY(const predict::MeasuredModel steps, steps_of_machine(set.header.machine));
  watch.begin("learning", predict::kJobUtilisationFits, "fits");
  std::int64_t fits = 0;
  auto fitted = predict::fit_job_utilisation(set, steps.steps, request.seed, [&] { watch.at(++fits); });
  if (!fitted) return std::move(fitted).error().with_context(request.source);
  watch.finish();
  const std::string bytes = predict::to_bytes(*fitted);
  ORRERY_TRY_VOID(env.files.write_atomically(request.out, bytes));
  Table table({{"model", "model"},
               {"jobs", "jobs", CellFormat::kInteger},
               {"machine", "machine"},
               {"error", "mean error on those left out", CellFormat::kPercent},
               {"bytes", "size", CellFormat::kBytes}});
  table.add({request.out, static_cast<std::int64_t>(fitted->jobs), fitted->machine, fitted->error,
             static_cast<double>(bytes.size())});
  return FitAnswer{std::move(table), {}};
}

// What a source is, where the request does not say.
FitForm form_of(env::Files& files, const std::string& source) {
  if (files.exists(source + "/devices.csv")) return FitForm::kOperators;
  if (profile::is_job_set(files, source)) return FitForm::kJobs;
  return is_trace_folder(files, source) ? FitForm::kLaunches : FitForm::kMeasured;
}

// A form that was asked for needs a source that fits it.
Status check_source(env::Files& files, const FitRequest& request) {
  const std::string& source = request.source;
  const FitForm form = request.form;
  const std::string option = request.names("form");
  const auto needs = [&](bool is_there, std::string_view what) -> Status {
    if (is_there) return {};
    return Error::invalid(fmt::format("{}: {} {} needs {}", source, option, to_string(form), what));
  };
  if (form == FitForm::kOperators) {
    return needs(files.exists(source + "/devices.csv"), "a folder of measured operators (with devices.csv)");
  }
  if (form == FitForm::kLaunches) {
    return needs(is_trace_folder(files, source), "a folder of launch traces (with index.csv)");
  }
  if (form == FitForm::kJobs) return needs(profile::is_job_set(files, source), "a set of jobs (`orrery dataset jobs`)");
  if (form == FitForm::kMeasured) {
    return needs(!is_trace_folder(files, source) && !profile::is_job_set(files, source),
                 fmt::format("a data set (`orrery dataset build`); {} launches learns from launch traces", option));
  }
  return {};
}

// What was learned in minutes must not be lost for a folder that does not exist.
Status check_out(env::Files& files, const FitRequest& request) {
  const std::string& out = request.out;
  const std::size_t slash = out.rfind('/');
  if (slash == std::string::npos || slash == 0 || files.exists(out.substr(0, slash))) return {};
  return Error::not_found(fmt::format("{}: there is no folder {}", request.names("out"), quote(out.substr(0, slash))));
}

}  // namespace

Result<FitAnswer> fit(env::Env env, const FitRequest& request, Watch& watch) {
  ORRERY_TRY_VOID(check_out(env.files, request));
  if (request.form != FitForm::kAuto) ORRERY_TRY_VOID(check_source(env.files, request));
  switch (request.form == FitForm::kAuto ? form_of(env.files, request.source) : request.form) {
    case FitForm::kOperators:
      return fit_operators(env, request, watch);
    case FitForm::kJobs:
      return fit_jobs(env, request, watch);
    case FitForm::kEtsNetwork:
      return fit_ets_form(env, request, watch);
    case FitForm::kRegression:
      return fit_regression_form(env, request, watch);
    case FitForm::kDriple:
      return fit_driple_form(env, request, watch);
    case FitForm::kAuto:
    case FitForm::kMeasured:
    case FitForm::kLaunches:
      break;
  }
  return fit_device(env, request, watch);
}

}  // namespace orrery::service
