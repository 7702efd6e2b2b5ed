// Traces job_id, num_gpu, submit_time_s, duration_s on one pool of GPUs, whole seconds; every end time must be equal.

#include <cmath>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>

#include "lab/lab.h"
#include "lab/reference/kinds.h"
#include "schedule/policies.h"
#include "schedule/policies/las.h"
#include "simulate/data_file.h"
#include "simulate/engine.h"

namespace orrery::lab {

namespace {

// What the simulator calls our policies.
const std::map<std::string, std::string, std::less<>> kNames = {
    {"fifo", "fifo"},         {"fjf", "first-fit"}, {"sjf", "sjf"},      {"shortest", "srtf"},
    {"shortest-gpu", "srsf"}, {"dlas", "las-time"}, {"dlas-gpu", "las"}, {"dlas-gpu-gittins", "gittins"}};

constexpr std::string_view kExpected = ".expected_end_times.csv";

Result<JobTrace> read_trace(env::Files& files, const std::string& path) {
  ORRERY_TRY(const CsvTable table, read_csv_file(files, path));
  JobTrace job_trace;
  job_trace.name = path;
  for (const CsvRow& row : table.rows) {
    TraceJob job;
    ORRERY_TRY(job.id, text_field(table, row, "job_id"));
    ORRERY_TRY(const double gpus, number_field(table, row, "num_gpu"));
    ORRERY_TRY(const double submit, number_field(table, row, "submit_time_s"));
    ORRERY_TRY(const double duration, number_field(table, row, "duration_s"));
    if (gpus < 1 || gpus > 1e6 || submit < 0 || duration < 0 || submit + duration > schedule::kSecondsMax) {
      return Error::invalid(fmt::format("{}: line {}: a number is out of range", path, row.line));
    }
    job.facts.gpus = static_cast<std::int32_t>(gpus);
    job.facts.submit_ns = schedule::from_seconds(submit);
    job.facts.work_ns = schedule::from_seconds(duration);
    job_trace.jobs.push_back(std::move(job));
  }
  // End times are absolute, so nothing is shifted.
  std::stable_sort(job_trace.jobs.begin(), job_trace.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.facts.submit_ns < b.facts.submit_ns; });
  return job_trace;
}

Result<int> gpus_of(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string text, read_data_file(files, path));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("gpus") || !json["gpus"].is_number_integer()) {
    return Error::invalid(fmt::format("{}: gpus: missing; expected how many GPUs the cluster has", path));
  }
  const auto gpus = json["gpus"].get<std::int64_t>();
  if (gpus < 1 || gpus > 1 << 24) return Error::invalid(fmt::format("{}: gpus: {} is out of range", path, gpus));
  return static_cast<int>(gpus);
}

Result<std::vector<double>> read_sample(const ReferenceInput& input) {
  ORRERY_TRY(const std::string path, find_input(input, "tiresias", {"yarn-gput1000.csv"}));
  ORRERY_TRY(const CsvTable table, read_csv_file(input.files, path));
  std::vector<double> sample;
  for (const CsvRow& row : table.rows) {
    ORRERY_TRY(sample.emplace_back(), number_field(table, row, table.header.front()));
  }
  return sample;
}

Result<std::unique_ptr<schedule::Policy>> policy_of(const ReferenceInput& input, const std::string& name) {
  schedule::PolicyInputs inputs;
  inputs.placement = "most-free";
  inputs.las.jumps_of_simulator = true;
  if (name == "gittins") {
    ORRERY_TRY(inputs.service_sample_gpu_s, read_sample(input));
  }
  if (name == "las-time") {
    inputs.las.count_gpus = false;
    return schedule::make_las(inputs.las, schedule::make_most_free_placer());
  }
  return schedule::make_policy(name, inputs);
}

struct Expected {
  std::map<std::string, std::size_t, std::less<>> rows;  // by job id
  CsvTable table;
};

Result<std::vector<ReferenceCase>> run_case(const ReferenceInput& input, const std::string& stem,
                                            const JobTrace& job_trace, int gpus, const Expected& expected,
                                            const std::string& column) {
  const auto known = kNames.find(column);
  if (known == kNames.end()) {
    return std::vector<ReferenceCase>{
        {stem, column, "end times that differ", 0, 0, Target::kNone, 0, 0, "no policy of ours has this name"}};
  }
  ORRERY_TRY(std::unique_ptr<schedule::Policy> policy, policy_of(input, known->second));
  const double start = input.now_s();
  ORRERY_TRY(const RunResult run, simulate::simulate(job_trace, {{.gpus = gpus}}, CurveSpeed({}),
                                                     [&](const schedule::ClusterView&) { return std::move(policy); }));
  const double seconds = input.now_s() - start;
  ORRERY_TRY(const std::size_t at, expected.table.column(column));
  double differ = 0, expected_sum = 0, our_sum = 0;
  for (const JobIndex j : job_trace.jobs.indices()) {
    const auto row = expected.rows.find(job_trace.jobs[j].id);
    if (row == expected.rows.end()) {
      return Error::invalid(fmt::format("{}: no expected end time of job {}", stem, job_trace.jobs[j].id));
    }
    ORRERY_TRY(const double wanted,
               number_field(expected.table, expected.table.rows[row->second], expected.table.header[at]));
    const bool ended = run.jobs[j].end_ns != kNever;
    const double ours = ended ? schedule::to_seconds(run.jobs[j].end_ns) : -1;
    if (ours != wanted) ++differ;
    const double submit = schedule::to_seconds(job_trace.jobs[j].facts.submit_ns);
    expected_sum += wanted - submit;
    our_sum += ours - submit;
  }
  const auto count = static_cast<double>(job_trace.jobs.size());
  return std::vector<ReferenceCase>{
      {stem, column, "end times that differ", 0, differ, Target::kEqual, 0, seconds},
      {stem, column, "mean completion time, s", expected_sum / count, our_sum / count, Target::kEqual, 1e-12, seconds}};
}

}  // namespace

Result<std::vector<ReferenceCase>> run_tiresias_results(const ReferenceInput& input,
                                                        const std::vector<std::string>& names) {
  std::vector<ReferenceCase> cases;
  for (const std::string& name : names) {
    const auto stem = stem_of(name, kExpected);
    if (!stem) continue;
    Expected expected;
    ORRERY_TRY(expected.table, read_csv_file(input.files, input.folder + "/" + name));
    for (std::size_t i = 0; i < expected.table.rows.size(); ++i) {
      ORRERY_TRY(const std::string id, text_field(expected.table, expected.table.rows[i], "job_id"));
      expected.rows[id] = i;
    }
    ORRERY_TRY(const std::string trace, find_input(input, "tiresias", {*stem + ".csv"}));
    ORRERY_TRY(const JobTrace job_trace, read_trace(input.files, trace));
    ORRERY_TRY(const int gpus, gpus_of(input.files, input.folder + "/" + *stem + ".summary.json"));
    for (const std::string& column : expected.table.header) {
      if (column == "job_id") continue;
      ORRERY_TRY(const std::vector<ReferenceCase> found, run_case(input, *stem, job_trace, gpus, expected, column));
      cases.insert(cases.end(), found.begin(), found.end());
    }
  }
  return cases;
}

}  // namespace orrery::lab
