#include "service/plan_instance.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "env/files.h"
#include "plan/spread.h"

namespace orrery::service {

using plan::Instance;
using plan::Objective;
using plan::PlanReport;

namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> postponed(const Instance& instance, const plan::Plan& plan) {
  std::vector<bool> runs(instance.jobs.size(), false);
  for (const plan::Node& node : plan.nodes)
    for (const plan::RunningJob& one : node.jobs) runs[one.job] = true;
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!runs[i]) ids.push_back(instance.jobs[i].id);
  return ids;
}

// The machine that is there already; empty for a new one.
std::string machine_name(const Instance& instance, const plan::Node& node) {
  for (const plan::RunningJob& one : node.jobs)
    if (instance.jobs[one.job].is_pinned()) return instance.jobs[one.job].pinned_on;
  return {};
}

Json plan_json(const Instance& instance, const plan::Plan& plan) {
  Json nodes = Json::array();
  for (const plan::Node& node : plan.nodes) {
    Json jobs = Json::array();
    for (const plan::RunningJob& one : node.jobs)
      jobs.push_back({{"id", instance.jobs[one.job].id}, {"gpus", one.gpus}});
    Json one = {{"vm", instance.vm_types[node.vm].name}, {"jobs", std::move(jobs)}};
    if (const std::string name = machine_name(instance, node); !name.empty()) one["machine"] = name;
    nodes.push_back(std::move(one));
  }
  return {{"nodes", std::move(nodes)}, {"postponed", postponed(instance, plan)}};
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string choice_text(const plan::VmType& type, int gpus, int machines) {
  if (machines > 1) return fmt::format("{} machines: {}", machines, type.name);
  return fmt::format("{} × {}", gpus, type.name);
}

}  // namespace

Result<PlannedInstance> plan_instance(env::Env env, const std::string& path, Objective objective,
                                      const PlannerFields& planner) {
  ORRERY_TRY(const std::string text, env.files.read(path, plan::kInstanceBytesMax));
  ORRERY_TRY(Instance instance, plan::read_instance(text, path));
  ORRERY_TRY(PlanReport report, plan::make_plan(instance, objective, planner_options(env, planner), env));
  return PlannedInstance{std::move(instance), objective, std::move(report)};
}

std::string to_json(const PlannedInstance& planned) {
  const auto& [instance, objective, report] = planned;
  const plan::CostSplit& cost = report.cost;
  const Json json = {{"objective", plan::to_string(objective)},
                     {"objective_usd", report.objective_usd},
                     {"bound_usd", report.bound_usd},
                     {"gap", report.gap},
                     {"proven", report.proven},
                     {"note", report.note},
                     {"seconds", report.time.value()},
                     {"greedy_usd", report.greedy_usd},
                     {"rental_usd", static_cast<double>(cost.rental_usd)},
                     {"idle_usd", static_cast<double>(cost.idle_usd)},
                     {"tardiness_usd", static_cast<double>(cost.tardiness_usd)},
                     {"postponed_usd", static_cast<double>(cost.postponed_usd)},
                     {"plan", plan_json(instance, report.plan)}};
  return json.dump() + "\n";
}

std::string to_text(const PlannedInstance& planned) {
  const auto& [instance, objective, report] = planned;
  const plan::CostSplit& cost = report.cost;
  const auto dollars = [](long double usd) { return format_dollars(Dollars(static_cast<double>(usd))); };
  const auto waiting = postponed(instance, report.plan);
  std::string text = fmt::format("{} under {}: rental {}, idle {}, tardiness {}, postponed {}\n",
                                 dollars(cost.total_usd()), plan::to_string(objective), dollars(cost.rental_usd),
                                 dollars(cost.idle_usd), dollars(cost.tardiness_usd), dollars(cost.postponed_usd));
  text += report.proven ? "no plan is cheaper"
                        : fmt::format("no plan is cheaper than {} (gap {:.3f} %): {}", dollars(report.bound_usd),
                                      report.gap * 100, report.note);
  text += fmt::format("; {}\n\n", format_seconds(report.time));
  Table table({{"node", "node", CellFormat::kInteger},
               {"vm", "VM type"},
               {"idle", "idle", CellFormat::kInteger},
               {"jobs", "jobs × GPUs"}});
  for (std::size_t i = 0; i < report.plan.nodes.size(); ++i) {
    const plan::Node& node = report.plan.nodes[i];
    const plan::VmType& type = instance.vm_types[node.vm];
    const std::string name = machine_name(instance, node);
    std::vector<std::string> jobs;
    for (const plan::RunningJob& one : node.jobs)
      jobs.push_back(fmt::format("{} × {}", instance.jobs[one.job].id, one.gpus));
    table.add({static_cast<std::int64_t>(i + 1), name.empty() ? type.name : fmt::format("{} ({})", type.name, name),
               std::int64_t{type.gpus - node.used_gpus()}, joined(jobs)});
  }
  text += table.to_text();
  text += waiting.empty() ? "\nno job waits\n" : fmt::format("\nwaiting: {}\n", joined(waiting));
  return text;
}

Result<Table> explain(const PlannedInstance& planned, const std::string& id) {
  const auto& [instance, objective, report] = planned;
  const plan::Plan& plan = report.plan;
  const auto job =
      std::find_if(instance.jobs.begin(), instance.jobs.end(), [&](const auto& one) { return one.id == id; });
  if (job == instance.jobs.end()) {
    std::vector<std::string> ids;
    for (const plan::Job& one : instance.jobs) ids.push_back(one.id);
    return Error::not_found(fmt::format("no job {}{}", quote(id), did_you_mean(id, ids)));
  }
  const auto index = static_cast<std::size_t>(job - instance.jobs.begin());
  std::string taken = "waits";
  const int machines = plan::machines_by_job(instance, plan)[index];
  for (const plan::Node& node : plan.nodes)
    for (const plan::RunningJob& one : node.jobs)
      if (one.job == index) taken = choice_text(instance.vm_types[node.vm], one.gpus, machines);
  Table table({{"choice", "choice"},
               {"time_s", "time", CellFormat::kSeconds},
               {"rental_usd", "rental", CellFormat::kDollars},
               {"tardiness_usd", "tardiness", CellFormat::kDollars},
               {"total_usd", "together", CellFormat::kDollars},
               {"chosen", "chosen"}});
  const auto add = [&](const std::string& choice, double time, double rental) {
    const double late = job->weight_usd_s * std::max(0.0, planned.instance.now_s + time - job->due_s);
    table.add({choice, time, rental, late, rental + late, choice == taken ? "yes" : ""});
  };
  for (std::size_t vm = 0; vm < instance.vm_types.size(); ++vm) {
    const plan::VmType& type = instance.vm_types[vm];
    for (int gpus = 1; gpus <= type.gpus; ++gpus) {
      const auto time = plan::run_s(instance, *job, vm, gpus);
      if (!time) continue;
      add(choice_text(type, gpus, 1), *time, type.price_usd_h / 3600 * gpus / type.gpus * *time);
    }
  }
  for (const plan::Spread& one : plan::spreads_of(instance, index)) {
    const plan::VmType& type = instance.vm_types[one.vm];
    add(choice_text(type, type.gpus, one.machines), one.time_s, one.machines * type.price_usd_h / 3600 * one.time_s);
  }
  const double waiting = plan::postponed_usd(instance, objective)[index];
  table.add({"waits", Cell(), Cell(), Cell(), waiting, taken == "waits" ? "yes" : ""});
  return table;
}

}  // namespace orrery::service
