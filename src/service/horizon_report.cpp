#include "service/horizon_report.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "plan/choice.h"

namespace orrery::service {

using plan::horizon::Mode;
using plan::horizon::Outlook;
using plan::horizon::Problem;
using plan::horizon::Spread;
using plan::horizon::Start;
using plan::horizon::Task;

namespace {

using Json = nlohmann::ordered_json;

std::string dollars(double usd) {
  return format_dollars(Dollars(usd));
}

std::string mode_text(const Problem& problem, const Mode& mode) {
  const std::string& vm = problem.vm_types[mode.vm].name;
  if (mode.machines > 1) return fmt::format("{} machines: {}", mode.machines, vm);
  return fmt::format("{} × {}", mode.gpus, vm);
}

// "2 × acme four, 1 × acme one", by how many of each.
std::string counts_text(const Problem& problem, const std::map<std::size_t, int>& counts) {
  std::vector<std::string> parts;
  for (const auto& [vm, count] : counts)
    if (count > 0) parts.push_back(fmt::format("{} × {}", count, problem.vm_types[vm].name));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What one period has.
struct Picture {
  std::map<std::size_t, int> machines{};
  std::vector<std::string> jobs{};
  double usd = 0;

  bool same(const Picture& other) const { return machines == other.machines && jobs == other.jobs; }
};

Picture picture_of(const PlannedHorizon& run, int period) {
  const Problem& problem = run.problem;
  Picture picture;
  std::map<std::size_t, int> gpus;
  for (const plan::Node& node : run.report.schedule.nodes[static_cast<std::size_t>(period)]) {
    ++picture.machines[node.vm];
    picture.usd += problem.tariff.machine[problem.at(node.vm, period)];
    for (const plan::RunningJob& one : node.jobs) gpus[one.job] += one.gpus;
  }
  for (const auto& [task, count] : gpus) picture.jobs.push_back(fmt::format("{} × {}", problem.tasks[task].id, count));
  return picture;
}

// How many of each type there are more.
std::map<std::size_t, int> more(const std::map<std::size_t, int>& now, const std::map<std::size_t, int>& before) {
  std::map<std::size_t, int> change;
  for (const auto& [vm, count] : now) {
    const auto had = before.find(vm);
    change[vm] = std::max(0, count - (had != before.end() ? had->second : 0));
  }
  return change;
}

Json spread_json(const Spread& spread) {
  return {{"mean", spread.mean}, {"low", spread.low}, {"high", spread.high}};
}

Json table_json(const Table& table) {
  return Json::parse(table.to_json());
}

}  // namespace

Table period_table(const PlannedHorizon& run) {
  const Problem& problem = run.problem;
  Table table({{"from_s", "from", CellFormat::kSeconds},
               {"to_s", "to", CellFormat::kSeconds},
               {"rented", "rented"},
               {"released", "given back"},
               {"machines", "machines", CellFormat::kInteger},
               {"usd", "machines cost", CellFormat::kDollars},
               {"jobs", "jobs × GPUs"}});
  Picture before;
  for (int t = 0; t < problem.periods;) {
    Picture now = picture_of(run, t);
    int to = t + 1;
    double usd = now.usd;
    for (; to < problem.periods; ++to) {
      const Picture next = picture_of(run, to);
      if (!next.same(now)) break;
      usd += next.usd;
    }
    std::int64_t machines = 0;
    for (const auto& [vm, count] : now.machines) machines += count;
    table.add({t * problem.period_s, to * problem.period_s, counts_text(problem, more(now.machines, before.machines)),
               counts_text(problem, more(before.machines, now.machines)), machines, usd,
               fmt::format("{}", fmt::join(now.jobs, ", "))});
    before = std::move(now);
    t = to;
  }
  return table;
}

Table task_table(const PlannedHorizon& run) {
  const Problem& problem = run.problem;
  Table table({{"job", "job"},
               {"submit_s", "submitted", CellFormat::kSeconds},
               {"where", "where"},
               {"start_s", "starts", CellFormat::kSeconds},
               {"end_s", "ends", CellFormat::kSeconds},
               {"due_s", "due", CellFormat::kSeconds},
               {"chance", "kept, as predicted", CellFormat::kPercent},
               {"met", "in scenarios", CellFormat::kPercent, run.outlook.has_value()},
               {"tardiness_usd", "tardiness", CellFormat::kDollars}});
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    const Task& task = problem.tasks[i];
    const Start& start = *run.report.schedule.starts[i];
    const Mode& mode = task.modes[start.mode];
    const double from = start.period * problem.period_s;
    const bool has_due = task.due_s < plan::horizon::kNever;
    table.add({task.id, task.submit_s, mode_text(problem, mode), from, end_s(problem, mode, start.period),
               has_due ? Cell(task.due_s) : Cell(),
               has_due ? Cell(plan::chance_within(mode.likely_s, task.due_s - from)) : Cell(),
               has_due && run.outlook ? Cell(run.outlook->met[i]) : Cell(),
               tardiness_usd(problem, task, mode, start.period)});
  }
  return table;
}

Table forecast_table(const PlannedHorizon& run) {
  Table table({{"job", "expected job"},
               {"per_h", "per hour", CellFormat::kNumber},
               {"mean", "come on average", CellFormat::kNumber},
               {"met", "deadlines kept", CellFormat::kPercent}});
  for (std::size_t f = 0; f < run.forecasts.size(); ++f) {
    const bool has_due = run.forecasts[f].task.due_s < plan::horizon::kNever;
    table.add({run.forecasts[f].task.id, run.forecasts[f].per_h, run.outlook->forecast_tasks[f],
               has_due ? Cell(run.outlook->forecast_met[f]) : Cell()});
  }
  return table;
}

Table machine_table(const PlannedHorizon& run) {
  const Problem& problem = run.problem;
  Table table({{"from_s", "from", CellFormat::kSeconds},
               {"vm", "VM type"},
               {"mean", "machines on average", CellFormat::kNumber},
               {"low", "1 of 10 has at most", CellFormat::kNumber},
               {"high", "9 of 10 at most", CellFormat::kNumber}});
  for (std::size_t t = 0; t < run.outlook->machines.size(); ++t)
    for (std::size_t vm = 0; vm < problem.vm_types.size(); ++vm) {
      const Spread& spread = run.outlook->machines[t][vm];
      if (spread.mean > 0)
        table.add({static_cast<double>(t) * problem.period_s, problem.vm_types[vm].name, spread.mean, spread.low,
                   spread.high});
    }
  return table;
}

Table type_table(const PlannedHorizon& run) {
  const Problem& problem = run.problem;
  Table table({{"vm", "VM type"},
               {"machine_h", "machine hours on average", CellFormat::kNumber},
               {"most", "at once, in 9 of 10 scenarios", CellFormat::kNumber},
               {"most_s", "most are needed at", CellFormat::kSeconds}});
  for (std::size_t vm = 0; vm < problem.vm_types.size(); ++vm) {
    double hours = 0, most = -1, when = 0;
    for (std::size_t t = 0; t < run.outlook->machines.size(); ++t) {
      const Spread& spread = run.outlook->machines[t][vm];
      hours += spread.mean * problem.period_s / 3600;
      if (spread.high <= most) continue;
      most = spread.high;
      when = static_cast<double>(t) * problem.period_s;
    }
    if (hours > 0) table.add({problem.vm_types[vm].name, hours, most, when});
  }
  return table;
}

namespace {

std::string_view basis_text(plan::horizon::CostBasis basis) {
  switch (basis) {
    case plan::horizon::CostBasis::kUsd:
      return "usd";
    case plan::horizon::CostBasis::kEnergy:
      return "energy";
    case plan::horizon::CostBasis::kCarbon:
      return "carbon";
  }
  return "";
}

Json outlook_json(const PlannedHorizon& run) {
  const Outlook& outlook = *run.outlook;
  Json budgets = Json::object();
  for (std::size_t b = 0; b < run.problem.budgets.size(); ++b)
    budgets[run.problem.budgets[b].name] = outlook.budgets_kept[b];
  return {{"scenarios", run.scenarios},
          {"seed", run.seed},
          {"total_usd", spread_json(outlook.total_usd)},
          {"machines_usd", spread_json(outlook.machines_usd)},
          {"tardiness_usd", spread_json(outlook.tardiness_usd)},
          {"bound_usd", outlook.bound_usd},
          {"budgets_kept", std::move(budgets)},
          {"unfinished", outlook.unfinished},
          {"left_out", outlook.left_out},
          {"forecast", table_json(forecast_table(run))},
          {"machines", table_json(machine_table(run))}};
}

std::string outlook_text(const PlannedHorizon& run) {
  const Outlook& outlook = *run.outlook;
  std::string text = fmt::format(
      "\nin {} scenarios (seed {}), decided anew at every period: {} on average, 80 % between {} and {} (machines {}, "
      "tardiness {});\nwho knew what comes could not pay less than {} on average\n",
      run.scenarios, run.seed, dollars(outlook.total_usd.mean), dollars(outlook.total_usd.low),
      dollars(outlook.total_usd.high), dollars(outlook.machines_usd.mean), dollars(outlook.tardiness_usd.mean),
      dollars(outlook.bound_usd));
  for (std::size_t b = 0; b < run.problem.budgets.size(); ++b)
    text += fmt::format("{} is kept in {:.0f} % of them\n", run.problem.budgets[b].name, 100 * outlook.budgets_kept[b]);
  if (outlook.unfinished > 0)
    text += fmt::format("{} jobs had not ended when they should all have\n", outlook.unfinished);
  if (outlook.left_out > 0)
    text += fmt::format("{} jobs were left out: more than {} came in a scenario\n", outlook.left_out,
                        plan::horizon::kArrivalsMax);
  if (!run.forecasts.empty()) text += fmt::format("\n{}\n{}", forecast_table(run).to_text(), type_table(run).to_text());
  return text;
}

// What was used of money, energy and carbon, as far as it is known.
std::string utilisation_text(const PlannedHorizon& run) {
  std::string text = fmt::format("rent {}", dollars(run.rent_usd));
  if (run.kwh) text += fmt::format(", {} kWh", format_number(*run.kwh, 4));
  if (run.kgco2) text += fmt::format(", {} kg CO2", format_number(*run.kgco2, 4));
  return text;
}

}  // namespace

std::string to_json(const PlannedHorizon& run) {
  const plan::horizon::CostSplit& cost = run.report.cost;
  Json json = {{"cost", basis_text(run.basis)},
               {"objective_usd", run.report.total_usd()},
               {"bound_usd", run.report.bound_usd},
               {"gap", run.report.gap},
               {"proven", run.report.proven},
               {"note", run.report.note},
               {"seconds", run.report.time.value()},
               {"machines_usd", cost.machines_usd},
               {"idle_usd", cost.idle_usd},
               {"busy_usd", cost.busy_usd},
               {"tardiness_usd", cost.tardiness_usd},
               {"rent_usd", run.rent_usd},
               {"kwh", run.kwh ? Json(*run.kwh) : Json()},
               {"kgco2", run.kgco2 ? Json(*run.kgco2) : Json()},
               {"period_s", run.problem.period_s},
               {"predicted_times", run.predicted.all},
               {"predicted_in_domain", run.predicted.in_domain},
               {"certainty", run.certainty ? Json(*run.certainty) : Json()},
               {"periods", table_json(period_table(run))},
               {"jobs", table_json(task_table(run))}};
  if (std::isfinite(run.report.greedy_usd)) json["greedy_usd"] = run.report.greedy_usd;
  if (run.outlook) json["outlook"] = outlook_json(run);
  return json.dump() + "\n";
}

std::string to_text(const PlannedHorizon& run) {
  const plan::horizon::CostSplit& cost = run.report.cost;
  const Problem& problem = run.problem;
  std::string text;
  if (!problem.tasks.empty()) {
    const bool power = run.basis != plan::horizon::CostBasis::kUsd;
    text += fmt::format(
        "{}: {} {} (of it idle {}), {}tardiness {}; {} jobs, {} periods of {}; {}\n", dollars(run.report.total_usd()),
        power ? basis_text(run.basis) : "rental", dollars(cost.machines_usd), dollars(cost.idle_usd),
        power ? fmt::format("GPUs at work {}, ", dollars(cost.busy_usd)) : "", dollars(cost.tardiness_usd),
        problem.tasks.size(), problem.periods, format_seconds(Seconds(problem.period_s)), utilisation_text(run));
    text += run.report.proven ? "no schedule is cheaper"
                              : fmt::format("no schedule is cheaper than {} (gap {:.2f} %): {}",
                                            dollars(run.report.bound_usd), 100 * run.report.gap, run.report.note);
    text += fmt::format("; {}\n", format_seconds(run.report.time));
    text += run.predicted.text() + "\n";
    if (run.certainty)
      text += fmt::format("every deadline is kept with a probability of {:g} at least, as predicted\n", *run.certainty);
    text += fmt::format("\n{}\n{}", period_table(run).to_text(), task_table(run).to_text());
  }
  if (run.outlook) text += outlook_text(run);
  return text;
}

Result<Table> explain(const PlannedHorizon& run, const std::string& id) {
  const Problem& problem = run.problem;
  std::vector<std::string> ids;
  for (const Task& task : problem.tasks) ids.push_back(task.id);
  const auto found = std::find(ids.begin(), ids.end(), id);
  if (found == ids.end()) return Error::not_found(fmt::format("no job {}{}", quote(id), did_you_mean(id, ids)));
  const auto index = static_cast<std::size_t>(found - ids.begin());
  const Task& task = problem.tasks[index];
  Table table({{"choice", "choice"},
               {"time_s", "time", CellFormat::kSeconds},
               {"likely_s", "as predicted", CellFormat::kSeconds},
               {"share_usd", "share of machines", CellFormat::kDollars},
               {"tardiness_usd", "tardiness", CellFormat::kDollars},
               {"start_s", "starts", CellFormat::kSeconds}});
  const int first = task.runs ? 0 : first_period(problem, task);
  for (std::size_t m = 0; m < task.modes.size(); ++m) {
    const Mode& mode = task.modes[m];
    if (first + length(problem, mode) > problem.periods) continue;
    double share = busy_of(problem, problem.tariff, mode, first);
    for (int t = first; t < first + length(problem, mode); ++t)
      share +=
          problem.tariff.machine[problem.at(mode.vm, t)] * mode.gpus * mode.machines / problem.vm_types[mode.vm].gpus;
    const Start& start = *run.report.schedule.starts[index];
    table.add({mode_text(problem, mode), mode.time_s, mode.likely_s.value, share,
               tardiness_usd(problem, task, mode, first),
               start.mode == m ? Cell(start.period * problem.period_s) : Cell()});
  }
  return table;
}

}  // namespace orrery::service
