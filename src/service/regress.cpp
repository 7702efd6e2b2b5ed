#include "service/regress.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "env/files.h"

namespace orrery::service {

namespace {

constexpr Bytes kCampaignMax = mebibytes(1);
constexpr Bytes kTableMax = mebibytes(256);

std::string input_path(env::Files& files, const std::string& campaign, const std::string& input) {
  const std::size_t slash = campaign.rfind('/');
  const std::string beside = slash == std::string::npos ? input : campaign.substr(0, slash + 1) + input;
  return files.exists(beside) ? beside : input;
}

}  // namespace

Result<ReadCampaign> read_campaign(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string text, files.read(path, kCampaignMax));
  auto campaign = predict::parse_campaign(text);
  if (!campaign) return std::move(campaign).error().with_context(path);
  const std::string input = input_path(files, path, campaign->input);
  ORRERY_TRY(const std::string rows, files.read(input, kTableMax));
  auto table = parse_csv(rows);
  if (!table) return std::move(table).error().with_context(input);
  auto data = predict::prepare(*table, *campaign);
  if (!data) return std::move(data).error().with_context(input);
  return ReadCampaign{std::move(*campaign), std::move(*data)};
}

const Fields<RegressRequest>& regress_fields() {
  static const auto kFields = Fields<RegressRequest>().add(
      &RegressRequest::config,
      text_option("config", "", "campaign of regressions (docs/guide/regression.md)").in("CONFIG").required().word());
  return kFields;
}

Result<RegressAnswer> regress(env::Env env, const RegressRequest& request) {
  ORRERY_TRY(const ReadCampaign read, read_campaign(env.files, request.config));
  auto result = predict::run_campaign(read.campaign, read.data);
  if (!result) return std::move(result).error().with_context(request.config);
  return RegressAnswer{read.campaign.target, std::move(*result)};
}

namespace {

std::string settings(const predict::Hyperparameters& values) {
  std::string text;
  for (const auto& [key, value] : values) text += fmt::format("{}{}={:g}", text.empty() ? "" : ", ", key, value);
  return text;
}

}  // namespace

Table regress_table(const RegressAnswer& answer) {
  Table table({{"technique", "technique"},
               {"hyperparameters", "chosen"},
               {"selection_mape", "error choosing", CellFormat::kPercent},
               {"validation_mape", "error validating", CellFormat::kPercent},
               {"validation_rmse", "rmse", CellFormat::kNumber},
               {"validation_rows", "rows", CellFormat::kInteger},
               {"columns", "columns", CellFormat::kInteger},
               {"formula", "formula", CellFormat::kText, false}});
  for (const predict::TechniqueResult& one : answer.result.techniques) {
    table.add({one.technique, settings(one.hyperparameters), one.selection_error, one.validation_error,
               one.validation_rmse, static_cast<std::int64_t>(one.validation_rows),
               static_cast<std::int64_t>(one.columns.size()), one.formula});
  }
  return table;
}

std::string regress_text(const RegressAnswer& answer) {
  return fmt::format("\n{} rows, {} columns; best first by the error where hyper-parameters were chosen\n{} = {}\n",
                     answer.result.rows, answer.result.features, answer.target,
                     answer.result.techniques.front().formula);
}

}  // namespace orrery::service
