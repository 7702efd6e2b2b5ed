#include <fmt/format.h>

#include "base/table.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/fit_forms.h"
#include "env/files.h"
#include "env/terminal.h"
#include "predict/jobs/job_utilisation_model.h"
#include "predict/measured/measured_model.h"
#include "predict/operators/operator_model.h"
#include "predict/readers/gpu_iterations.h"
#include "predict/readers/operator_folder.h"
#include "profile/jobs/job_file.h"
#include "service/network_fields.h"
#include "service/predictors.h"

namespace orrery::cli {

namespace {

// A data set of this tool, or one GPU of a folder of launch traces.
Result<predict::MeasuredSet> read_measured(Context& context, const Arguments& arguments) {
  const std::string& source = arguments.words[0];
  env::Files& files = context.env.files;
  if (!is_trace_folder(files, source)) {
    ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(files, source));
    return predict::measured_set(dataset);
  }
  ORRERY_TRY_VOID(check_device(arguments.options));
  ORRERY_TRY(predict::GpuIterations found, predict::gpu_iterations(files, source, arguments.options.text("device")));
  for (const std::string& skipped : found.skipped) context.env.terminal.write_error("skipped " + skipped + "\n");
  return std::move(found.set);
}

Status fit_operators(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const predict::EnsembleOptions how = predict::operator_options(static_cast<std::uint64_t>(options.integer("seed")),
                                                                 static_cast<int>(options.integer("threads")));
  Progress progress("learning", static_cast<std::int64_t>(predict::kOperatorClasses.size()),
                    progress_options(context.env, "classes of operators"));
  progress.begin();
  ORRERY_TRY(std::vector<predict::OperatorWork> classes,
             predict::read_operator_work(context.env.files, arguments.words[0]));
  std::int64_t operators = 0;
  for (const predict::OperatorWork& work : classes) operators += static_cast<std::int64_t>(work.rows.size());
  ORRERY_TRY(const predict::OperatorModel model,
             predict::OperatorModel::fit(std::move(classes), how, [&] { progress.advance(1); }));
  progress.finish();
  const std::string bytes = model.to_bytes();
  ORRERY_TRY_VOID(context.env.files.write_atomically(options.text("out"), bytes));
  Table table({{"model", "model"},
               {"operators", "operators", CellFormat::kInteger},
               {"devices", "devices", CellFormat::kInteger},
               {"ratio_low", "interval of a new device, from"},
               {"ratio_high", "to"},
               {"bytes", "size", CellFormat::kBytes}});
  table.add({options.text("out"), operators, static_cast<std::int64_t>(model.devices().size()), model.ratios().low,
             model.ratios().high, static_cast<double>(bytes.size())});
  return context.print_table(table, options);
}

Status fit_device(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  Progress progress("learning", predict::kFits, progress_options(context.env, "fits"));
  progress.begin();
  predict::FitOptions how;
  how.seed = static_cast<std::uint64_t>(options.integer("seed"));
  how.threads = static_cast<int>(options.integer("threads"));
  how.progress = [&](int fits) { progress.advance(fits - progress.done()); };
  ORRERY_TRY(const predict::MeasuredSet set, read_measured(context, arguments));
  auto fitted = predict::fit_measured(set, how);
  if (!fitted) return std::move(fitted).error().with_context(arguments.words[0]);
  const predict::MeasuredModel& model = *fitted;
  progress.finish();
  const std::string bytes = predict::to_bytes(model);
  ORRERY_TRY_VOID(context.env.files.write_atomically(options.text("out"), bytes));
  Table table({{"model", "model"},
               {"iterations", "iterations", CellFormat::kInteger},
               {"device", "device"},
               {"machine", "machine"},
               {"error", "mean error on those left out", CellFormat::kPercent},
               {"bytes", "size", CellFormat::kBytes}});
  table.add({options.text("out"), static_cast<std::int64_t>(model.iterations), model.machine.device, model.machine.name,
             model.error, static_cast<double>(bytes.size())});
  return context.print_table(table, options);
}

Status fit_jobs(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const profile::JobSet set, profile::read_jobs(context.env.files, arguments.words[0]));
  ORRERY_TRY(const predict::MeasuredModel steps, service::steps_of_machine(set.header.machine));
  Progress progress("learning", predict::kJobUtilisationFits, progress_options(context.env, "fits"));
  progress.begin();
  auto fitted = predict::fit_job_utilisation(set, steps.steps, static_cast<std::uint64_t>(options.integer("seed")),
                                             [&] { progress.advance(1); });
  if (!fitted) return std::move(fitted).error().with_context(arguments.words[0]);
  progress.finish();
  const std::string bytes = predict::to_bytes(*fitted);
  ORRERY_TRY_VOID(context.env.files.write_atomically(options.text("out"), bytes));
  Table table({{"model", "model"},
               {"jobs", "jobs", CellFormat::kInteger},
               {"machine", "machine"},
               {"error", "mean error on those left out", CellFormat::kPercent},
               {"bytes", "size", CellFormat::kBytes}});
  table.add({options.text("out"), static_cast<std::int64_t>(fitted->jobs), fitted->machine, fitted->error,
             static_cast<double>(bytes.size())});
  return context.print_table(table, options);
}

// What a source is, where --form does not say.
std::string form_of(env::Files& files, const std::string& source) {
  if (files.exists(source + "/devices.csv")) return "operators";
  if (profile::is_job_set(files, source)) return "jobs";
  return is_trace_folder(files, source) ? "launches" : "measured";
}

// A form that was asked for needs a source that fits it.
Status check_source(env::Files& files, const std::string& source, const std::string& form) {
  const auto needs = [&](bool is_there, std::string_view what) -> Status {
    if (is_there) return {};
    return Error::invalid(fmt::format("{}: --form {} needs {}", source, form, what));
  };
  if (form == "operators") {
    return needs(files.exists(source + "/devices.csv"), "a folder of measured operators (with devices.csv)");
  }
  if (form == "launches") {
    return needs(is_trace_folder(files, source), "a folder of launch traces (with index.csv)");
  }
  if (form == "jobs") return needs(profile::is_job_set(files, source), "a set of jobs (`orrery dataset jobs`)");
  if (form == "measured") {
    return needs(!is_trace_folder(files, source) && !profile::is_job_set(files, source),
                 "a data set (`orrery dataset build`); --form launches learns from launch traces");
  }
  return {};
}

// What was learned in minutes must not be lost for a folder that does not exist.
Status check_out(env::Files& files, const std::string& out) {
  const std::size_t slash = out.rfind('/');
  if (slash == std::string::npos || slash == 0 || files.exists(out.substr(0, slash))) return {};
  return Error::not_found(fmt::format("--out: there is no folder {}", quote(out.substr(0, slash))));
}

Status run_fit(Context& context, const Arguments& arguments) {
  env::Files& files = context.env.files;
  ORRERY_TRY_VOID(check_out(files, arguments.options.text("out")));
  const std::string& source = arguments.words[0];
  const std::string& asked = arguments.options.text("form");
  const std::string form = asked == "auto" ? form_of(files, source) : asked;
  if (asked != "auto") ORRERY_TRY_VOID(check_source(files, source, form));
  if (form == "operators") return fit_operators(context, arguments);
  if (form == "jobs") return fit_jobs(context, arguments);
  if (form == "ets-network") return fit_ets_form(context, arguments);
  if (form == "regression") return fit_regression_form(context, arguments);
  if (form == "driple") return fit_driple_form(context, arguments);
  return fit_device(context, arguments);
}

std::vector<OptionRecord> fit_options() {
  return {
      text_option("out", "orrery.model", "model file to write").in("FILE"),
      choice_option("form", "auto",
                    {"auto", "measured", "launches", "operators", "jobs", "ets-network", "regression", "driple"},
                    "the form says what is learned; auto takes it from the source (measured from a data set, "
                    "launches from traces)"),
      text_option(
          "device", "",
          "the GPU of a folder of traces to learn, or the device that the table of a regression was measured on")
          .in("NAME"),
      integer_option("seed", 1, "seed of every random choice; a regression has its own seed in its file")
          .bounds(0, 1'000'000'000),
      integer_option("threads", 2, "threads that fit the model; a network is trained by one").bounds(1, 1024),
      integer_option("steps", 0, "steps of the training of a network; 0: 2000 for ets-network, 3000 for driple")
          .bounds(0, 1e9),
      optional_duration("time-limit", "the training of a network ends after this time, and its file is written"),
      text_option("keep", "", "folder for the checkpoint of a network's training; a killed training continues from it")
          .in("DIR"),
      choice_option("time-of", "step", {"step", "run"},
                    "the target of a regression is the time of a step or of a whole run"),
      choice_option("unit", "auto", {"auto", "s", "ms", "us", "min", "h"},
                    "the target of a regression has this unit; auto reads it from the name, as in step_ms"),
      text_option("model", "", "the table of a regression measured this model; others are then outside the domain")
          .in("NAME"),
      text_option("frequencies", "",
                  "the CSV lists operators and their shares for driple; without it the shares come from the graphs")
          .in("FILE"),
      text_option(
          "setting", "",
          "driple learns only from jobs of a set that have these values of form, mode, servers, workers or rate")
          .list()
          .in("FIELD=VALUE")};
}

}  // namespace

bool is_trace_folder(env::Files& files, const std::string& source) {
  return files.exists(source + "/index.csv");
}

Status check_device(const OptionValues& options) {
  if (options.text("device").empty()) return Error::invalid("give --device: which GPU of the folder's index");
  return {};
}

Command fit_command() {
  return {"fit",
          "SOURCE",
          1,
          1,
          "learn a model of times or of resources from measurements, and write it into a file that `orrery predict "
          "--predictor FILE` reads",
          join(join(fit_options(),
                    join(service::sequence_fields().records(), service::resource_network_fields().records())),
               table_options()),
          {"orrery fit cpu.dataset --out cpu.model", "orrery fit jobs.dataset --out jobs.model",
           "orrery fit ../shared/data/ets_traces --device T4 --out t4.model",
           "orrery fit ../shared/data/neusight --out operators.model",
           "orrery fit ../shared/data/ets_traces --form ets-network --device T4 --steps 2000 --keep training --out "
           "t4-ets.model",
           "orrery fit examples/step_time.regress.ini --form regression --out step.model",
           "orrery fit ../shared/data/driple/gpumemnet --form driple --out resources.model"},
          run_fit};
}

}  // namespace orrery::cli
