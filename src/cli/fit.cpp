#include "base/table.h"
#include "cli/commands.h"
#include "env/files.h"
#include "predict/measured/measured_model.h"

namespace orrery::cli {

namespace {

Status run_fit(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  Progress progress("learning", predict::kFits, progress_options(context.env, "fits"));
  predict::FitOptions how;
  how.seed = static_cast<std::uint64_t>(options.integer("seed"));
  how.threads = static_cast<int>(options.integer("threads"));
  how.progress = [&](int fits) { progress.advance(fits - progress.done()); };
  ORRERY_TRY(const predict::MeasuredModel model, predict::fit_measured(context.env.files, arguments.words[0], how));
  const std::string bytes = predict::to_bytes(model);
  ORRERY_TRY_VOID(context.env.files.write_atomically(options.text("out"), bytes));
  Table table({{"model", "model"},
               {"iterations", "iterations", CellFormat::kInteger},
               {"machine", "machine"},
               {"error", "mean error on those left out", CellFormat::kPercent},
               {"bytes", "size", CellFormat::kBytes}});
  table.add({options.text("out"), static_cast<std::int64_t>(model.iterations), model.machine, model.error,
             static_cast<double>(bytes.size())});
  return context.print_table(table, options);
}

}  // namespace

Command fit_command() {
  return {"fit",
          "DATASET",
          1,
          1,
          "learn a machine's times from a data set measured on it",
          join({text_option("out", "orrery.model", "the model to write").in("FILE"),
                integer_option("seed", 1, "of the trees").bounds(0, 1'000'000'000),
                integer_option("threads", 2, "to learn with").bounds(1, 1024)},
               table_options()),
          {"orrery fit cpu.dataset --out cpu.model"},
          run_fit};
}

}  // namespace orrery::cli
