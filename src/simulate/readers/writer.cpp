#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/table.h"
#include "simulate/readers/reader.h"

namespace orrery::simulate {

namespace {

// How long a job runs on a type; nothing where it cannot.
Cell typed_duration(const JobTrace& job_trace, const JobFacts& facts, std::size_t device) {
  const double speed = job_trace.speeds[static_cast<std::size_t>(facts.speed_class)][device];
  return facts.speed_class > 0 && speed > 0 ? Cell(schedule::to_seconds(facts.work_ns) / speed) : Cell();
}

Table table_of(const JobTrace& job_trace) {
  std::vector<Column> columns = {{"id", "id"},
                                 {"submit_s", "submit", CellFormat::kNumber},
                                 {"duration_s", "duration", CellFormat::kNumber},
                                 {"gpus", "GPUs", CellFormat::kInteger},
                                 {"gpus_max", "at most", CellFormat::kInteger},
                                 {"model", "model"},
                                 {"tenant", "tenant"},
                                 {"priority", "priority", CellFormat::kNumber},
                                 {"deadline_s", "deadline", CellFormat::kNumber},
                                 {"cpus", "CPUs", CellFormat::kNumber},
                                 {"memory_gib", "memory", CellFormat::kNumber},
                                 {"gpu_utilisation", "utilisation", CellFormat::kNumber},
                                 {"gpu_memory_share", "memory share", CellFormat::kNumber}};
  const auto any = [&](auto has) { return std::ranges::any_of(job_trace.jobs, has); };
  const bool has_batches = any([](const TraceJob& job) { return job.batch > 0; });
  const bool has_steps = any([](const TraceJob& job) { return job.steps > 0; });
  const bool has_limits = any([](const TraceJob& job) { return job.time_limit_ns != kNever; });
  if (has_batches) columns.push_back({"batch", "batch", CellFormat::kNumber});
  if (has_steps) columns.push_back({"steps", "steps", CellFormat::kNumber});
  if (has_limits) columns.push_back({"time_limit_s", "time limit", CellFormat::kNumber});
  const bool is_snapshot = any([](const TraceJob& job) { return job.executed_ns > 0; });
  if (is_snapshot) columns.push_back({"executed_s", "executed", CellFormat::kNumber});
  const bool has_stages = any([](const TraceJob& job) { return job.facts.stages != nullptr; });
  if (has_stages) {
    for (const char* column :
         {"iteration_s", "stage_s.load", "stage_s.storage", "stage_s.processors", "stage_s.gpu", "stage_s.network"}) {
      columns.push_back({column, column, CellFormat::kNumber});
    }
  }
  for (const std::string& device : job_trace.devices) {
    columns.push_back({"duration_s." + device, device, CellFormat::kNumber});
  }
  Table table(std::move(columns));
  for (const TraceJob& job : job_trace.jobs) {
    const JobFacts& facts = job.facts;
    const bool due = facts.deadline_ns != kNever;
    std::vector<Cell> cells = {job.id,
                               schedule::to_seconds(facts.submit_ns),
                               schedule::to_seconds(facts.work_ns),
                               std::int64_t{facts.gpus},
                               std::int64_t{facts.gpus_max},
                               job.model,
                               job_trace.tenants[static_cast<std::size_t>(facts.tenant)],
                               facts.priority,
                               due ? Cell(schedule::to_seconds(facts.deadline_ns)) : Cell(),
                               facts.cpus,
                               facts.memory,
                               facts.gpu_utilisation,
                               facts.gpu_memory_share};
    if (has_batches) cells.push_back(job.batch > 0 ? Cell(job.batch) : Cell());
    if (has_steps) cells.push_back(job.steps > 0 ? Cell(job.steps) : Cell());
    const bool is_limited = job.time_limit_ns != kNever;
    if (has_limits) cells.push_back(is_limited ? Cell(schedule::to_seconds(job.time_limit_ns)) : Cell());
    if (is_snapshot) cells.emplace_back(schedule::to_seconds(job.executed_ns));
    if (has_stages) {
      const schedule::StageTimes s = facts.stages != nullptr ? *facts.stages : schedule::StageTimes{};
      for (const double time_s : {s.iteration_s, s.load_s, s.storage_s, s.processors_s, s.gpu_s, s.network_s}) {
        cells.push_back(schedule::is_known(s) ? Cell(time_s) : Cell());
      }
    }
    for (std::size_t d = 0; d < job_trace.devices.size(); ++d) cells.push_back(typed_duration(job_trace, facts, d));
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

std::string to_csv(const JobTrace& job_trace) {
  return table_of(job_trace).to_csv();
}

std::string to_jsonl(const JobTrace& job_trace) {
  const Table table = table_of(job_trace);
  std::string text;
  for (const auto& object : nlohmann::ordered_json::parse(table.to_json())) {
    nlohmann::ordered_json line;
    for (const auto& field : object.items()) {
      if (!field.value().is_null()) line[field.key()] = field.value();
    }
    text += line.dump() + "\n";
  }
  return text;
}

}  // namespace orrery::simulate
