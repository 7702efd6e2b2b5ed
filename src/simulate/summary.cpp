#include "simulate/summary.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orrery::simulate {

namespace {

// Of sorted values; 0 without any.
double quantile_of(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

struct TenantSum {
  double slowdown = 0;
  double jobs = 0;
};

double jain(const std::vector<TenantSum>& tenants) {
  double sum = 0, squares = 0, count = 0;
  for (const TenantSum& tenant : tenants) {
    if (tenant.jobs == 0) continue;
    const double mean = tenant.slowdown / tenant.jobs;
    sum += mean;
    squares += mean * mean;
    ++count;
  }
  return squares > 0 ? sum * sum / (count * squares) : 1;
}

}  // namespace

Summary summarise(const JobTrace& job_trace, const RunResult& run, int gpus, double price_per_gpu_h) {
  Summary result;
  result.policy = run.policy;
  result.unfinished = static_cast<std::int64_t>(run.unfinished.size());
  result.too_large = static_cast<std::int64_t>(run.too_large.size());
  result.events = run.events;
  result.decision_hash = run.decision_hash;
  std::vector<double> completions, slowdowns;
  std::vector<TenantSum> tenants(std::max<std::size_t>(1, job_trace.tenants.size()));
  double queueing = 0, restarts = 0, tardiness = 0;
  for (const JobIndex j : run.jobs.indices()) {
    const JobOutcome& outcome = run.jobs[j];
    if (outcome.end_ns == kNever) continue;
    const JobFacts& facts = job_trace.jobs[j].facts;
    const double completion = schedule::to_seconds(outcome.end_ns - facts.submit_ns);
    const double slowdown = completion / std::max(1e-9, schedule::to_seconds(facts.work_ns));
    completions.push_back(completion);
    slowdowns.push_back(slowdown);
    queueing += completion - schedule::to_seconds(outcome.executed_ns);
    restarts += outcome.starts - 1;
    TenantSum& tenant = tenants[static_cast<std::size_t>(facts.tenant)];
    tenant.slowdown += slowdown;
    ++tenant.jobs;
    if (facts.deadline_ns == kNever) continue;
    ++result.deadlines;
    const TimeNs over = std::max<TimeNs>(0, outcome.end_ns - facts.deadline_ns);
    tardiness += schedule::to_seconds(over);
    if (over > 0) ++result.late;
  }
  result.jobs = static_cast<std::int64_t>(completions.size());
  const double count = std::max(1.0, static_cast<double>(completions.size()));
  std::sort(completions.begin(), completions.end());
  std::sort(slowdowns.begin(), slowdowns.end());
  result.mean_s = mean_of(completions);
  result.median_s = quantile_of(completions, 0.5);
  result.p90_s = quantile_of(completions, 0.9);
  result.p99_s = quantile_of(completions, 0.99);
  result.slowdown = mean_of(slowdowns);
  result.slowdown_p99 = quantile_of(slowdowns, 0.99);
  result.fairness = jain(tenants);
  result.queueing_s = queueing / count;
  result.restarts = restarts / count;
  result.tardiness_s = result.deadlines > 0 ? tardiness / static_cast<double>(result.deadlines) : 0;
  result.makespan_s = schedule::to_seconds(run.makespan_ns);
  const double capacity = static_cast<double>(run.makespan_ns) * gpus;
  result.utilisation = capacity > 0 ? run.busy_gpu_ns / capacity : 0;
  result.fragmentation = capacity > 0 ? run.stranded_gpu_ns / capacity : 0;
  result.cost = run.busy_gpu_ns * 1e-9 / 3600 * price_per_gpu_h + run.price_usd;
  return result;
}

Table to_table(const std::vector<Summary>& summaries) {
  Table table({{"policy", "policy"},
               {"seed", "seed", CellFormat::kInteger, false},
               {"jobs", "jobs", CellFormat::kInteger},
               {"mean_s", "mean", CellFormat::kSeconds},
               {"median_s", "median", CellFormat::kSeconds},
               {"p90_s", "p90", CellFormat::kSeconds},
               {"p99_s", "p99", CellFormat::kSeconds},
               {"queueing_s", "queueing", CellFormat::kSeconds},
               {"makespan_s", "makespan", CellFormat::kSeconds},
               {"utilisation", "GPUs used", CellFormat::kPercent},
               {"fragmentation", "fragmented", CellFormat::kPercent},
               {"slowdown", "slowdown", CellFormat::kNumber},
               {"slowdown_p99", "p99 slowdown", CellFormat::kNumber, false},
               {"fairness", "fairness", CellFormat::kNumber},
               {"restarts", "restarts", CellFormat::kNumber},
               {"deadlines", "deadlines", CellFormat::kInteger, false},
               {"late", "late", CellFormat::kInteger},
               {"tardiness_s", "tardiness", CellFormat::kSeconds, false},
               {"cost_usd", "cost", CellFormat::kDollars, false},
               {"unfinished", "unfinished", CellFormat::kInteger},
               {"too_large", "too large", CellFormat::kInteger},
               {"events", "events", CellFormat::kInteger, false},
               {"decision_hash", "decisions", CellFormat::kText, false}});
  for (const Summary& s : summaries) {
    table.add({s.policy,
               static_cast<std::int64_t>(s.seed),
               s.jobs,
               s.mean_s,
               s.median_s,
               s.p90_s,
               s.p99_s,
               s.queueing_s,
               s.makespan_s,
               s.utilisation,
               s.fragmentation,
               s.slowdown,
               s.slowdown_p99,
               s.fairness,
               s.restarts,
               s.deadlines,
               s.late,
               s.tardiness_s,
               s.cost > 0 ? Cell(s.cost) : Cell(),
               s.unfinished,
               s.too_large,
               s.events,
               fmt::format("{:016x}", s.decision_hash)});
  }
  return table;
}

Result<Summary> summary_of_json(std::string_view json) {
  const auto row = nlohmann::json::parse(json, nullptr, false);
  if (!row.is_object()) return Error::invalid("not a row of a run");
  Summary s;
  std::string wrong;
  const auto number = [&](const char* key, auto& value) {
    const auto found = row.find(key);
    using Value = std::remove_reference_t<decltype(value)>;
    const bool sound =
        found != row.end() && (std::is_integral_v<Value> ? found->is_number_integer() : found->is_number());
    if (!sound) {
      wrong = key;
      return;
    }
    value = found->template get<Value>();
  };
  number("seed", s.seed);
  number("jobs", s.jobs);
  number("mean_s", s.mean_s);
  number("median_s", s.median_s);
  number("p90_s", s.p90_s);
  number("p99_s", s.p99_s);
  number("queueing_s", s.queueing_s);
  number("makespan_s", s.makespan_s);
  number("utilisation", s.utilisation);
  number("fragmentation", s.fragmentation);
  number("slowdown", s.slowdown);
  number("slowdown_p99", s.slowdown_p99);
  number("fairness", s.fairness);
  number("restarts", s.restarts);
  number("deadlines", s.deadlines);
  number("late", s.late);
  number("tardiness_s", s.tardiness_s);
  number("unfinished", s.unfinished);
  number("too_large", s.too_large);
  number("events", s.events);
  if (row.contains("cost_usd") && row["cost_usd"].is_number()) s.cost = row["cost_usd"].get<double>();
  const auto text = [&](const char* key) {
    const bool there = row.contains(key) && row[key].is_string();
    if (!there) wrong = key;
    return there ? row[key].get<std::string>() : std::string();
  };
  s.policy = text("policy");
  const std::string hash = text("decision_hash");
  const auto parsed = std::from_chars(hash.data(), hash.data() + hash.size(), s.decision_hash, 16);
  if (parsed.ec != std::errc() || parsed.ptr != hash.data() + hash.size()) wrong = "decision_hash";
  if (!wrong.empty()) return Error::invalid(fmt::format("{}: missing or of the wrong type", wrong));
  return s;
}

}  // namespace orrery::simulate
