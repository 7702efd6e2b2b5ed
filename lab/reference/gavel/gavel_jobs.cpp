#include "lab/reference/gavel/gavel_jobs.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "simulate/data_file.h"

namespace orrery::lab {

Result<GavelJobs> read_gavel_jobs(env::Files& files, const std::string& path, const PackedSpeeds& speeds) {
  ORRERY_TRY(const CsvTable table, read_csv_file(files, path));
  GavelJobs jobs;
  for (const CsvRow& row : table.rows) {
    ORRERY_TRY(const std::string model, text_field(table, row, "job_type"));
    ORRERY_TRY(const double steps, number_field(table, row, "total_steps"));
    ORRERY_TRY(const double gpus, number_field(table, row, "scale_factor"));
    GavelJob& job = jobs.emplace_back();
    ORRERY_TRY(job.submit_s, number_field(table, row, "arrival_time_s"));
    if (!(steps >= 1 && steps <= 1e15) || !(gpus >= 1 && gpus <= 1e6)) {
      return Error::invalid(fmt::format("{}: line {}: a number is out of range", path, row.line));
    }
    job.steps = static_cast<std::int64_t>(steps);
    job.gpus = static_cast<int>(gpus);
    job.kind = speeds.kind(model, job.gpus);
    if (table.column("batch_mode")) {
      ORRERY_TRY(const std::string rule, text_field(table, row, "batch_mode"));
      ORRERY_TRY(job.rule, parse_batch_rule(rule));
      if (job.rule != BatchRule::kStatic) {
        ORRERY_TRY(job.model, parse_batched_model(model));
      }
    }
    if (job.kind < 0) {
      return Error::not_found(
          fmt::format("{}: line {}: no speed of {} on {} GPUs", path, row.line, quote(model), job.gpus));
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const GavelJob& a, const GavelJob& b) { return a.submit_s < b.submit_s; });
  return jobs;
}

}  // namespace orrery::lab
