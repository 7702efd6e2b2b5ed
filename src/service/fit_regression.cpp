#include <fmt/format.h>

#include "base/text.h"
#include "predict/regression/regression_model.h"
#include "service/fit_forms.h"
#include "service/regress.h"

namespace orrery::service {

namespace {

Result<predict::TableFacts> table_facts(const std::string& target, const FitRequest& request) {
  predict::TableFacts facts{.model = request.model, .device = request.device};
  facts.time_of = request.time_of == "run" ? predict::TimeOf::kRun : predict::TimeOf::kStep;
  if (!facts.device.empty() && hardware::find_device_or_null(facts.device) == nullptr) {
    return Error::invalid(fmt::format("{}: unknown device {}; `orrery devices` lists them", request.names("device"),
                                      quote(facts.device)));
  }
  if (request.unit != "auto") {
    facts.unit_s = predict::unit_of_name("_" + request.unit).value_or(1);
    return facts;
  }
  const auto unit = predict::unit_of_name(target);
  if (!unit) {
    return Error::invalid(
        fmt::format("the name {} does not say its unit as step_ms or time_s do; give {} s, ms, us, min or h",
                    quote(target), request.names("unit")));
  }
  facts.unit_s = *unit;
  return facts;
}

}  // namespace

Result<FitAnswer> fit_regression_form(env::Env env, const FitRequest& request, Watch& watch) {
  ORRERY_TRY(const ReadCampaign read, read_campaign(env.files, request.source));
  ORRERY_TRY(const predict::TableFacts facts, table_facts(read.campaign.target, request));
  bool has_begun = false;
  auto fitted = predict::fit_regression(read.campaign, read.data, facts, [&](std::size_t done, std::size_t all) {
    if (!has_begun) watch.begin("learning", static_cast<std::int64_t>(all), "campaigns");
    has_begun = true;
    watch.at(static_cast<std::int64_t>(done));
  });
  if (!fitted) return std::move(fitted).error().with_context(request.source);
  watch.finish();
  const std::string bytes = predict::to_bytes(*fitted);
  ORRERY_TRY_VOID(env.files.write_atomically(request.out, bytes));
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
    table.add({request.out, fitted->technique, static_cast<std::int64_t>(fitted->rows),
               one.column.empty() ? "configurations" : "values of " + one.column, one.error, one.low, one.high,
               static_cast<std::int64_t>(fitted->configurations.size()), static_cast<double>(bytes.size()),
               fitted->regression.formula});
  }
  return FitAnswer{std::move(table), fmt::format("\n{} = {}\n", fitted->target, fitted->regression.formula)};
}

}  // namespace orrery::service
