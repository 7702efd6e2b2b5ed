#include <fmt/format.h>

#include "base/csv.h"
#include "base/table.h"
#include "cli/commands.h"
#include "env/files.h"
#include "predict/regression/campaign.h"

namespace orrery::cli {

namespace {

constexpr Bytes kCampaignMax = mebibytes(1);
constexpr Bytes kTableMax = mebibytes(256);

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

// Beside the campaign's file, or as it stands.
std::string input_path(env::Files& files, const std::string& campaign, const std::string& input) {
  const std::size_t slash = campaign.rfind('/');
  const std::string beside = slash == std::string::npos ? input : campaign.substr(0, slash + 1) + input;
  return files.exists(beside) ? beside : input;
}

Status run_regress(Context& context, const Arguments& arguments) {
  const std::string& path = arguments.words[0];
  env::Files& files = context.env.files;
  ORRERY_TRY(const std::string text, files.read(path, kCampaignMax));
  auto campaign = predict::parse_campaign(text);
  if (!campaign) return std::move(campaign).error().with_context(path);
  const std::string input = input_path(files, path, campaign->input);
  ORRERY_TRY(const std::string rows, files.read(input, kTableMax));
  auto table = parse_csv(rows);
  if (!table) return std::move(table).error().with_context(input);
  auto data = predict::prepare(*table, *campaign);
  if (!data) return std::move(data).error().with_context(input);
  auto result = predict::run_campaign(*campaign, *data);
  if (!result) return std::move(result).error().with_context(path);
  ORRERY_TRY_VOID(context.print_table(result_table(*result), arguments.options));
  if (!for_people(arguments.options)) return {};
  context.print(fmt::format("\n{} rows, {} columns; best first by the error where hyper-parameters were chosen\n",
                            result->rows, result->features));
  context.print(fmt::format("{} = {}\n", campaign->target, result->techniques.front().formula));
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
