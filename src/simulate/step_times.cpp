#include "simulate/step_times.h"

#include <cmath>
#include <fmt/format.h>

#include "simulate/speed_tables.h"

namespace orrery::simulate {

namespace {

struct Mean {
  double sum = 0;
  int rows = 0;
};

}  // namespace

double batch_of(const TraceJob& job) {
  constexpr double kPerGpu = 32;
  return job.batch > 0 ? job.batch : kPerGpu * job.facts.gpus;
}

Result<StepTimes> StepTimes::parse(std::string_view csv, const std::string& file) {
  ORRERY_TRY(const CsvTable table, read_measured_table(csv, file, {"model", "gpus", "step_s"}));
  const Columns columns(table.header);
  std::map<std::pair<std::string, double>, std::map<int, Mean>> measured;
  for (const CsvRow& row : table.rows) {
    RowReader fields(columns, row.fields);
    const std::string model(fields.text("model"));
    const double gpus = fields.number("gpus"), step_s = fields.number("step_s"), batch = fields.number_or("batch", 0);
    if (model.empty()) fields.fail("model", "missing");
    if (!is_count(gpus)) fields.fail("gpus", "expected a whole number from 1 on");
    if (!(batch >= 0)) fields.fail("batch", "expected a number of samples");
    if (!(step_s > 0 && step_s <= schedule::kSecondsMax)) fields.fail("step_s", "expected seconds above 0");
    if (!fields.fault().empty()) return Error::invalid(fmt::format("{}:{}: {}", file, row.line, fields.fault()));
    Mean& mean = measured[{model, batch}][static_cast<int>(gpus)];
    mean.sum += step_s;
    ++mean.rows;
  }
  StepTimes result;
  for (const auto& [key, by_gpus] : measured) {
    std::map<int, double> step_s;
    for (const auto& [gpus, mean] : by_gpus) step_s.emplace(gpus, mean.sum / mean.rows);
    result.add(key.first, key.second, std::make_shared<const schedule::StepCurve>(std::move(step_s)));
  }
  return result;
}

schedule::SharedCurve StepTimes::curve_of(const TraceJob& job) const {
  for (const double batch : {batch_of(job), 0.0}) {
    const auto found = curves_.find({job.model, batch});
    if (found != curves_.end()) return found->second;
  }
  return nullptr;
}

JobCurves StepTimes::curves_of(const JobTrace& job_trace) const {
  JobCurves curves;
  if (empty()) return curves;
  for (const TraceJob& job : job_trace.jobs) curves.push_back(curve_of(job));
  return curves;
}

}  // namespace orrery::simulate
