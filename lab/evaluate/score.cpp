#include "lab/evaluate/score.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/plot/plots.h"
#include "base/statistics.h"

namespace orrery::lab {

namespace {

constexpr std::size_t kPointsMax = 3000;

Cell fraction_cell(double fraction) {
  if (std::isnan(fraction)) return std::monostate();
  return fraction;
}

// NaN: of none.
double share_of(std::size_t part, std::size_t whole) {
  return whole == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double fraction) {
  return std::isnan(fraction) ? "–" : fmt::format("{:.1f} %", 100 * fraction);
}

// Of all cases; of groups where they differ.
std::string flagged_text(const SuiteReport& report) {
  std::vector<std::string> shares;
  double first = std::numeric_limits<double>::quiet_NaN();
  bool differ = false;
  for (const ReportRow& row : report.rows) {
    if (std::isnan(row.score.flagged)) continue;
    if (std::isnan(first)) first = row.score.flagged;
    differ |= row.score.flagged != first;
    shares.push_back(fmt::format("{} {}", row.group, percent(row.score.flagged)));
  }
  if (shares.empty()) return "Flagged as outside of what was learned: none, because these models cannot tell.";
  return fmt::format("Flagged as outside of what was learned: {}.",
                     differ ? fmt::format("{}", fmt::join(shares, ", ")) : percent(first));
}

std::optional<double> more_of(const ReportRow& row, std::string_view name) {
  for (const auto& [key, value] : row.more) {
    if (key == name) return value;
  }
  return std::nullopt;
}

}  // namespace

Score score_of(std::span<const Case> cases, double seconds) {
  Score score;
  score.seconds = seconds;
  std::vector<double> errors;
  double squares = 0;
  std::size_t with_interval = 0;
  std::size_t inside = 0;
  std::size_t judged = 0;
  std::size_t flagged = 0;
  for (const Case& c : cases) {
    if (!(c.measured > 0)) continue;
    judged += c.in_domain ? 1 : 0;
    flagged += c.in_domain && !*c.in_domain ? 1 : 0;
    errors.push_back(std::abs(c.predicted - c.measured) / c.measured);
    squares += (c.predicted - c.measured) * (c.predicted - c.measured);
    if (std::isnan(c.low) || std::isnan(c.high)) continue;
    ++with_interval;
    inside += c.low <= c.measured && c.measured <= c.high ? 1 : 0;
  }
  score.cases = errors.size();
  score.coverage80 = share_of(inside, with_interval);
  score.flagged = share_of(flagged, judged);
  if (errors.empty()) return score;
  const auto count = static_cast<double>(errors.size());
  for (const double error : errors) score.mre += error / count;
  score.rmse_ms = std::sqrt(squares / count);
  score.median = median(errors);
  score.p90 = quantile(errors, 0.9);
  return score;
}

void SuiteReport::add(std::span<const Case> more, double seconds) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<Case>> by_group;
  for (const Case& c : more) {
    auto& group = by_group[c.group];
    if (group.empty()) order.push_back(c.group);
    group.push_back(c);
  }
  for (const std::string& group : order) rows.push_back({group, score_of(by_group[group], seconds)});
  cases.insert(cases.end(), more.begin(), more.end());
}

void SuiteReport::add_total(double seconds) {
  rows.push_back({"all", score_of(cases, seconds)});
}

void SuiteReport::publish(std::string_view group, double error, const std::string& by) {
  for (ReportRow& row : rows) {
    if (row.group != group) continue;
    row.published = error;
    row.published_by = by;
  }
}

const ReportRow* SuiteReport::find(std::string_view group) const {
  for (const ReportRow& row : rows) {
    if (row.group == group) return &row;
  }
  return nullptr;
}

std::vector<std::string> SuiteReport::more_names() const {
  std::vector<std::string> names;
  for (const ReportRow& row : rows) {
    for (const auto& [name, value] : row.more) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

Table to_table(const SuiteReport& report) {
  std::vector<Column> columns = {{"group", "group"},
                                 {"cases", "cases", CellFormat::kInteger},
                                 {"mre", "mean error", CellFormat::kPercent},
                                 {"median", "median", CellFormat::kPercent},
                                 {"p90", "90th percentile", CellFormat::kPercent},
                                 {"rmse_ms", "RMSE ms", CellFormat::kNumber},
                                 {"coverage80", "inside 80 % interval", CellFormat::kPercent},
                                 {"flagged", "flagged", CellFormat::kPercent},
                                 {"published", "published", CellFormat::kPercent},
                                 {"published_by", "by"},
                                 {"seconds", "seconds", CellFormat::kNumber, false}};
  const std::vector<std::string> names = report.more_names();
  for (const std::string& name : names) columns.push_back({name, name, CellFormat::kNumber});
  Table table(std::move(columns));
  for (const ReportRow& row : report.rows) {
    const Score& score = row.score;
    std::vector<Cell> cells = {row.group,
                               static_cast<std::int64_t>(score.cases),
                               score.mre,
                               score.median,
                               score.p90,
                               score.rmse_ms,
                               fraction_cell(score.coverage80),
                               fraction_cell(score.flagged),
                               row.published ? Cell(*row.published) : Cell(),
                               row.published_by,
                               score.seconds};
    for (const std::string& name : names) {
      const std::optional<double> value = more_of(row, name);
      cells.push_back(value ? Cell(*value) : Cell());
    }
    table.add(std::move(cells));
  }
  return table;
}

std::string to_json(const SuiteReport& report) {
  nlohmann::ordered_json groups = nlohmann::ordered_json::array();
  for (const ReportRow& row : report.rows) {
    nlohmann::ordered_json group;
    group["group"] = row.group;
    group["mre"] = row.score.mre;
    group["rmse_ms"] = row.score.rmse_ms;
    group["median"] = row.score.median;
    group["p90"] = row.score.p90;
    group["coverage80"] = nullptr;
    if (!std::isnan(row.score.coverage80)) group["coverage80"] = row.score.coverage80;
    group["flagged"] = nullptr;
    if (!std::isnan(row.score.flagged)) group["flagged"] = row.score.flagged;
    group["cases"] = row.score.cases;
    group["seconds"] = row.score.seconds;
    if (row.published) group["published"] = *row.published;
    if (row.published) group["published_by"] = row.published_by;
    for (const auto& [name, value] : row.more) group[name] = value;
    groups.push_back(std::move(group));
  }
  nlohmann::ordered_json json;
  json["suite"] = report.suite;
  json["seed"] = report.seed;
  json["groups"] = std::move(groups);
  json["notes"] = report.notes;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_markdown(const SuiteReport& report) {
  std::string text = "| group | cases | mean error | median | 90th percentile | inside 80 % interval | published |";
  std::string line = "|---|---|---|---|---|---|---|";
  const std::vector<std::string> names = report.more_names();
  for (const std::string& name : names) {
    text += fmt::format(" {} |", name);
    line += "---|";
  }
  text += "\n" + line + "\n";
  for (const ReportRow& row : report.rows) {
    const Score& score = row.score;
    const std::string published =
        row.published ? fmt::format("{} ({})", percent(*row.published), row.published_by) : "";
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} |", row.group, score.cases, percent(score.mre),
                        percent(score.median), percent(score.p90), percent(score.coverage80), published);
    for (const std::string& name : names) {
      const std::optional<double> value = more_of(row, name);
      text += value ? fmt::format(" {:.4f} |", *value) : " |";
    }
    text += "\n";
  }
  text += "\n" + flagged_text(report) + "\n";
  for (const std::string& note : report.notes) text += "\n" + note + "\n";
  return text;
}

std::string to_svg(const SuiteReport& report) {
  plot::ScatterPlot scatter{.heading = {.title = "Predicted and measured: " + report.suite},
                            .x = {.title = "Measured", .unit = "ms", .log = true},
                            .y = {.title = "Predicted", .unit = "ms", .log = true},
                            .diagonal = true,
                            .size = {720, 620}};
  std::map<std::string, std::size_t> places;
  const std::size_t step = std::max<std::size_t>(1, report.cases.size() / kPointsMax);
  for (std::size_t i = 0; i < report.cases.size(); i += step) {
    const Case& c = report.cases[i];
    const auto [place, is_new] = places.emplace(c.group, scatter.series.size());
    if (is_new) scatter.series.push_back({.name = c.group});
    scatter.series[place->second].points.push_back({c.measured, c.predicted, ""});
  }
  return plot::scatter_plot(scatter);
}

}  // namespace orrery::lab
