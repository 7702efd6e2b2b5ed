// What people and programs are shown of a choice: rows, lines and a figure.

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/plot/plots.h"
#include "base/text.h"
#include "service/choose.h"

namespace orrery::service {

using plan::Choice;
using plan::Verdict;

std::string choice_line(const Choice& choice) {
  std::string text =
      fmt::format("{}, batch per GPU {}: {} ({} to {}), {} ({} to {})", choice.place(), choice.batch,
                  format_seconds(choice.time.value), format_seconds(choice.time.low), format_seconds(choice.time.high),
                  format_dollars(choice.cost.value), format_dollars(choice.cost.low), format_dollars(choice.cost.high));
  if (choice.is_spot)
    text +=
        fmt::format(", {} interruptions, {} lost", format_number(choice.interruptions, 3), format_seconds(choice.lost));
  return text;
}

namespace {

Table empty_table(bool with_spot) {
  return Table({{"chosen", "chosen"},
                {"provider", "provider"},
                {"instance", "instance"},
                {"region", "region"},
                {"rented", "rented", CellFormat::kText, with_spot},
                {"machines", "machines", CellFormat::kInteger},
                {"device", "device"},
                {"devices", "devices", CellFormat::kInteger},
                {"batch", "batch", CellFormat::kInteger},
                {"batch_per_gpu", "per GPU", CellFormat::kInteger},
                {"price_usd_per_h", "per hour", CellFormat::kDollars},
                {"price_date", "price of", CellFormat::kText, false},
                {"predictor", "predictor"},
                {"network", "network", CellFormat::kText, false},
                {"learned_share", "learned", CellFormat::kPercent, false},
                {"in_domain", "in domain", CellFormat::kText, false},
                {"calibrated", "calibrated", CellFormat::kText, false},
                {"memory_bytes", "memory", CellFormat::kBytes},
                {"time_s", "time", CellFormat::kSeconds},
                {"time_low_s", "time low", CellFormat::kSeconds},
                {"time_high_s", "time high", CellFormat::kSeconds},
                {"interruptions", "interruptions", CellFormat::kNumber, with_spot},
                {"lost_s", "lost", CellFormat::kSeconds, with_spot},
                {"cost_usd", "cost", CellFormat::kDollars},
                {"cost_low_usd", "cost low", CellFormat::kDollars},
                {"cost_high_usd", "cost high", CellFormat::kDollars},
                {"pareto", "pareto", CellFormat::kText, false},
                {"why", "why"}});
}

void add_row(Table& table, const Choice& c, const ChooseAnswer& answer) {
  const bool chosen = c.verdict == Verdict::kChosen;
  table.add({chosen ? Cell("CHOSEN") : Cell(),
             c.offer->provider,
             c.offer->instance,
             c.offer->region.empty() ? Cell() : Cell(c.offer->region),
             c.is_spot ? "spot" : "on demand",
             std::int64_t{c.machines},
             c.offer->device,
             std::int64_t{c.devices()},
             c.batch * c.devices() / answer.spec.replica_devices(),
             c.batch,
             c.price.value(),
             c.offer->date.empty() ? Cell() : Cell(c.offer->date),
             c.prediction->predictor,
             c.prediction->network.empty() ? Cell() : Cell(c.prediction->network),
             c.prediction->learned_share,
             c.prediction->in_domain,
             c.prediction->calibrated,
             c.prediction->memory.value.value(),
             c.time.value.value(),
             c.time.low.value(),
             c.time.high.value(),
             c.is_spot ? Cell(c.interruptions) : Cell(),
             c.is_spot ? Cell(c.lost.value()) : Cell(),
             c.cost.value.value(),
             c.cost.low.value(),
             c.cost.high.value(),
             c.on_front(),
             plan::reason(c, answer.limits)});
}

}  // namespace

Table choice_table(const ChooseAnswer& answer, bool all) {
  Table table = empty_table(answer.space.spot);
  for (const Choice& choice : answer.choices->all()) {
    if (all || choice.on_front()) add_row(table, choice, answer);
  }
  return table;
}

std::string rejected_text(const ChooseAnswer& answer) {
  std::array<std::size_t, plan::kVerdicts> counts{};
  for (const Choice& choice : answer.choices->all()) ++counts[static_cast<std::size_t>(choice.verdict)];
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto verdict = static_cast<Verdict>(i);
    if (counts[i] == 0 || verdict == Verdict::kChosen || verdict == Verdict::kOnFront) continue;
    parts.push_back(fmt::format("{} {}", format_whole(static_cast<double>(counts[i])), plan::to_string(verdict)));
  }
  return parts.empty() ? "nothing" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string calibration_text(const ChooseAnswer& answer) {
  const std::vector<Choice>& choices = answer.choices->all();
  const auto calibrated =
      std::count_if(choices.begin(), choices.end(), [](const Choice& choice) { return choice.prediction->calibrated; });
  return calibration_text(static_cast<std::size_t>(calibrated), choices.size());
}

Error nothing_fits(const ChooseAnswer& answer) {
  const std::vector<Choice>& choices = answer.choices->all();
  std::vector<std::string> lines;
  for (const Choice* choice : plan::nearest(choices, answer.limits)) {
    lines.push_back(fmt::format("\n  {}: {}", choice_line(*choice), plan::reason(*choice, answer.limits)));
  }
  return Error::infeasible(fmt::format("none of {} configurations meets the limits: {}; nearest:{}",
                                       format_whole(static_cast<double>(choices.size())), rejected_text(answer),
                                       fmt::join(lines, "")));
}

std::string choice_plot(const ChooseAnswer& answer) {
  const std::vector<Choice>& choices = answer.choices->all();
  plot::ScatterPlot scatter;
  scatter.heading = {.title = fmt::format("{}: time and cost of {} offers", answer.model, choices.size()),
                     .subtitle = fmt::format("Predictions, {}; list prices", calibration_text(answer))};
  scatter.x = {.title = "Total time", .unit = "h", .log = true};
  scatter.y = {.title = "Cost", .unit = "USD", .log = true};
  scatter.pareto = plot::Preference{};
  plot::ScatterSeries series{.name = "offers", .points = {}}, chosen{.name = "chosen", .points = {}};
  for (const Choice& choice : choices) {
    if (!choice.prediction->fits || choice.is_bound) continue;
    plot::ScatterSeries& into = choice.verdict == plan::Verdict::kChosen ? chosen : series;
    into.points.push_back({.x = choice.time.value.value() / 3600,
                           .y = choice.cost.value.value(),
                           .label = choice.on_front() ? choice.label() : std::string()});
  }
  scatter.series.push_back(std::move(series));
  if (!chosen.points.empty()) scatter.series.push_back(std::move(chosen));
  return plot::scatter_plot(scatter);
}

}  // namespace orrery::service
