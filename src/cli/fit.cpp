#include "base/table.h"
#include "cli/commands.h"
#include "cli/predictors.h"
#include "env/files.h"
#include "env/terminal.h"
#include "predict/evaluate/gpu_iterations.h"
#include "predict/evaluate/operator_folder.h"
#include "predict/jobs/job_utilisation_model.h"
#include "predict/measured/measured_model.h"
#include "predict/operators/operator_model.h"

namespace orrery::cli {

namespace {

// A data set of this tool, or one GPU of a folder of launch traces.
Result<predict::MeasuredSet> read_measured(Context& context, const Arguments& arguments) {
  const std::string& source = arguments.words[0];
  env::Files& files = context.env.files;
  if (!files.exists(source + "/index.csv")) {
    ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(files, source));
    return predict::measured_set(dataset);
  }
  if (arguments.options.text("device").empty()) return Error::invalid("give --device: which GPU of the folder's index");
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
  ORRERY_TRY(const predict::MeasuredModel steps, steps_of_machine(set.header.machine));
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

Status run_fit(Context& context, const Arguments& arguments) {
  env::Files& files = context.env.files;
  if (files.exists(arguments.words[0] + "/devices.csv")) return fit_operators(context, arguments);
  return profile::is_job_set(files, arguments.words[0]) ? fit_jobs(context, arguments) : fit_device(context, arguments);
}

}  // namespace

Command fit_command() {
  return {"fit",
          "SOURCE",
          1,
          1,
          "learn a device's times from a data set or a folder of launch traces, operators of many from a folder of "
          "theirs, or what jobs use from a set of jobs",
          join({text_option("out", "orrery.model", "the model to write").in("FILE"),
                text_option("device", "", "the GPU to learn, of a folder of traces").in("NAME"),
                integer_option("seed", 1, "of the trees").bounds(0, 1'000'000'000),
                integer_option("threads", 2, "to learn with").bounds(1, 1024)},
               table_options()),
          {"orrery fit cpu.dataset --out cpu.model", "orrery fit jobs.dataset --out jobs.model",
           "orrery fit ../shared/data/ets_traces --device T4 --out t4.model",
           "orrery fit ../shared/data/neusight --out operators.model"},
          run_fit};
}

}  // namespace orrery::cli
