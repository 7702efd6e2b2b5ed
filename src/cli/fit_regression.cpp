#include <fmt/format.h>
#include <optional>

#include "base/table.h"
#include "base/text.h"
#include "cli/fit_forms.h"
#include "env/files.h"
#include "predict/regression/regression_model.h"
#include "service/regress.h"

namespace orrery::cli {

namespace {

Result<predict::TableFacts> table_facts(const std::string& target, const OptionValues& options) {
  predict::TableFacts facts{.model = options.text("model"), .device = options.text("device")};
  facts.time_of = options.text("time-of") == "run" ? predict::TimeOf::kRun : predict::TimeOf::kStep;
  if (!facts.device.empty() && hardware::find_device_or_null(facts.device) == nullptr) {
    return Error::invalid(fmt::format("--device: unknown device {}; `orrery devices` lists them", quote(facts.device)));
  }
  if (options.text("unit") != "auto") {
    facts.unit_s = predict::unit_of_name("_" + options.text("unit")).value_or(1);
    return facts;
  }
  const auto unit = predict::unit_of_name(target);
  if (!unit) {
    return Error::invalid(fmt::format(
        "the name {} does not say its unit as step_ms or time_s do; give --unit s, ms, us, min or h", quote(target)));
  }
  facts.unit_s = *unit;
  return facts;
}

}  // namespace

Status fit_regression_form(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::ReadCampaign read, service::read_campaign(context.env.files, arguments.words[0]));
  ORRERY_TRY(const predict::TableFacts facts, table_facts(read.campaign.target, options));
  std::optional<Progress> progress;
  auto fitted = predict::fit_regression(read.campaign, read.data, facts, [&](std::size_t done, std::size_t all) {
    if (!progress) {
      progress.emplace("learning", static_cast<std::int64_t>(all), progress_options(context.env, "campaigns"));
      progress->begin();
    }
    progress->advance(static_cast<std::int64_t>(done) - progress->done());
  });
  if (!fitted) return std::move(fitted).error().with_context(arguments.words[0]);
  if (progress) progress->finish();
  const std::string bytes = predict::to_bytes(*fitted);
  ORRERY_TRY_VOID(context.env.files.write_atomically(options.text("out"), bytes));
  Table table({{"model", "model"},
               {"technique", "technique"},
               {"rows", "rows", CellFormat::kInteger},
               {"left_out", "left out"},
               {"error", "mean error there", CellFormat::kPercent},
               {"low", "interval, from", CellFormat::kNumber},
               {"high", "to", CellFormat::kNumber},
               {"configurations", "configurations", CellFormat::kInteger, false},
               {"bytes", "size", CellFormat::kBytes, false},
               {"formula", "formula", CellFormat::kText, false}});
  for (const predict::LeftOutColumn& one : fitted->left_out) {
    table.add({options.text("out"), fitted->technique, static_cast<std::int64_t>(fitted->rows),
               one.column.empty() ? "configurations" : "values of " + one.column, one.error, one.low, one.high,
               static_cast<std::int64_t>(fitted->configurations.size()), static_cast<double>(bytes.size()),
               fitted->regression.formula});
  }
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (for_people(options)) context.print(fmt::format("\n{} = {}\n", fitted->target, fitted->regression.formula));
  return {};
}

}  // namespace orrery::cli
