#include <fmt/format.h>

#include "base/table.h"
#include "cli/campaigns.h"
#include "cli/commands.h"

namespace orrery::cli {

namespace {

std::string settings(const predict::Hyperparameters& values) {
  std::string text;
  for (const auto& [key, value] : values) text += fmt::format("{}{}={:g}", text.empty() ? "" : ", ", key, value);
  return text;
}

Table result_table(const predict::CampaignResult& result) {
  Table table({{"technique", "technique"},
               {"hyperparameters", "chosen"},
               {"selection_mape", "error choosing", CellFormat::kPercent},
               {"validation_mape", "error validating", CellFormat::kPercent},
               {"validation_rmse", "rmse", CellFormat::kNumber},
               {"validation_rows", "rows", CellFormat::kInteger},
               {"columns", "columns", CellFormat::kInteger},
               {"formula", "formula", CellFormat::kText, false}});
  for (const predict::TechniqueResult& one : result.techniques) {
    table.add({one.technique, settings(one.hyperparameters), one.selection_error, one.validation_error,
               one.validation_rmse, static_cast<std::int64_t>(one.validation_rows),
               static_cast<std::int64_t>(one.columns.size()), one.formula});
  }
  return table;
}

Status run_regress(Context& context, const Arguments& arguments) {
  const std::string& path = arguments.words[0];
  ORRERY_TRY(const ReadCampaign read, read_campaign(context.env.files, path));
  auto result = predict::run_campaign(read.campaign, read.data);
  if (!result) return std::move(result).error().with_context(path);
  ORRERY_TRY_VOID(context.print_table(result_table(*result), arguments.options));
  if (!for_people(arguments.options)) return {};
  context.print(fmt::format("\n{} rows, {} columns; best first by the error where hyper-parameters were chosen\n",
                            result->rows, result->features));
  context.print(fmt::format("{} = {}\n", read.campaign.target, result->techniques.front().formula));
  return {};
}

}  // namespace

Command regress_command() {
  return {"regress",
          "CONFIG",
          1,
          1,
          "fit and judge regressions of a table of measurements",
          table_options(),
          {"orrery regress examples/step_time.regress.ini"},
          run_regress};
}

}  // namespace orrery::cli
