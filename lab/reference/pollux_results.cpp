// Workloads on 16 nodes of 4 T4 GPUs: Tiresias must give every completion time, Optimus the mean within 0.1 %. Pollux,
// of which the published runs search at random and learn speeds while jobs run, must have a mean at most 5 % longer;
// ours knows the measured tables.

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "base/text.h"
#include "lab/lab.h"
#include "lab/reference/goodput/goodput_engine.h"
#include "lab/reference/kinds.h"
#include "schedule/policies/optimus.h"
#include "schedule/policies/tiresias.h"
#include "simulate/data_file.h"

namespace orrery::lab {

namespace {

constexpr int kNodes = 16, kGpusPerNode = 4;
constexpr double kOptimusTolerance = 1e-3, kPolluxTolerance = 0.05;

struct RunKey {
  std::string load, job_trace, policy;
  friend auto operator<=>(const RunKey&, const RunKey&) = default;
};

using ExpectedTimes = std::map<RunKey, std::map<std::string, double>>;  // by job

Result<ExpectedTimes> read_expected(const ReferenceInput& input) {
  ORRERY_TRY(const CsvTable table, read_csv_file(input.files, input.folder + "/expected_jct.csv"));
  ExpectedTimes result;
  for (const CsvRow& row : table.rows) {
    RunKey key;
    ORRERY_TRY(key.load, text_field(table, row, "load"));
    ORRERY_TRY(key.job_trace, text_field(table, row, "workload"));
    ORRERY_TRY(key.policy, text_field(table, row, "policy"));
    ORRERY_TRY(const std::string job, text_field(table, row, "job"));
    ORRERY_TRY(result[key][job], number_field(table, row, "jct_s"));
  }
  return result;
}

Result<GoodputJobs> read_job_trace(const ReferenceInput& input, const RunKey& key, const Applications& applications) {
  const std::string file = fmt::format("workload-{}.csv", key.job_trace);
  ORRERY_TRY(const std::string path, find_input(input, "sched_pollux_sia",
                                                {fmt::format("workloads/pollux-load{}/{}", key.load, file),
                                                 fmt::format("workloads-{}/{}", key.load, file),
                                                 fmt::format("pollux-load{}/{}", key.load, file), file}));
  ORRERY_TRY(const CsvTable table, read_csv_file(input.files, path));
  GoodputJobs jobs;
  for (const CsvRow& row : table.rows) {
    GoodputJob& job = jobs.emplace_back();
    ORRERY_TRY(job.name, text_field(table, row, "name"));
    ORRERY_TRY(job.submit_s, number_field(table, row, "time"));
    ORRERY_TRY(const std::string application, text_field(table, row, "application"));
    ORRERY_TRY(const double gpus, number_field(table, row, "num_replicas"));
    ORRERY_TRY(const double batch, number_field(table, row, "batch_size"));
    const auto found = applications.find(application);
    if (found == applications.end()) {
      return Error::not_found(fmt::format("{}: line {}: no application {}", path, row.line, quote(application)));
    }
    if (gpus < 1 || gpus > kNodes * kGpusPerNode || batch < 1 || batch > 1e9) {
      return Error::invalid(fmt::format("{}: line {}: a number is out of range", path, row.line));
    }
    job.application = &found->second;
    job.gpus = static_cast<int>(gpus);
    job.batch = static_cast<int>(batch);
  }
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const GoodputJob& a, const GoodputJob& b) { return a.submit_s < b.submit_s; });
  return jobs;
}

GoodputPolicy policy_of(const std::string& name) {
  return
      [name](const schedule::ClusterView&, const schedule::GoodputModel& model) -> std::unique_ptr<schedule::Policy> {
        if (name == "tiresias") return schedule::make_tiresias({}, schedule::make_most_free_placer());
        if (name == "pollux") return schedule::make_pollux({}, model, schedule::make_consolidated_placer());
        return schedule::make_optimus({.round_s = 60}, model, schedule::make_most_free_placer());
      };
}

Result<std::vector<ReferenceCase>> run_case(const ReferenceInput& input, const RunKey& key,
                                            const std::map<std::string, double>& expected,
                                            const Applications& applications) {
  const std::string instance = fmt::format("load {}, workload {}", key.load, key.job_trace);
  if (key.policy != "tiresias" && key.policy != "optimus" && key.policy != "pollux") {
    double sum = 0;
    for (const auto& job : expected) sum += job.second;
    return std::vector<ReferenceCase>{{instance, key.policy, "mean completion time, s",
                                       sum / static_cast<double>(expected.size()), 0, Target::kNone, 0, 0,
                                       "no policy of ours has this name"}};
  }
  ORRERY_TRY(const GoodputJobs jobs, read_job_trace(input, key, applications));
  const schedule::Machines machines(kNodes, {.gpus = kGpusPerNode});
  const double start = input.now_s();
  ORRERY_TRY(const GoodputResult run,
             simulate_goodput(jobs, machines, policy_of(key.policy), {.adapts_batch = key.policy == "pollux"}));
  const double seconds = input.now_s() - start;
  double differ = 0, expected_sum = 0, our_sum = 0;
  for (const schedule::JobIndex j : jobs.indices()) {
    const auto wanted = expected.find(jobs[j].name);
    if (wanted == expected.end()) {
      return Error::invalid(fmt::format("{}: no expected completion time of job {}", instance, jobs[j].name));
    }
    const double ours = run.jobs[j].end_s - jobs[j].submit_s;
    if (std::abs(ours - wanted->second) > 1e-6) ++differ;
    expected_sum += wanted->second;
    our_sum += ours;
  }
  const auto count = static_cast<double>(jobs.size());
  std::vector<ReferenceCase> cases;
  if (key.policy == "pollux") {
    cases.push_back({instance, key.policy, "mean completion time, s", expected_sum / count, our_sum / count,
                     Target::kAtMost, kPolluxTolerance, seconds});
    return cases;
  }
  const bool exact = key.policy == "tiresias";
  if (exact)
    cases.push_back({instance, key.policy, "completion times that differ", 0, differ, Target::kEqual, 0, seconds});
  cases.push_back({instance, key.policy, "mean completion time, s", expected_sum / count, our_sum / count,
                   exact ? Target::kEqual : Target::kWithin, exact ? 1e-12 : kOptimusTolerance, seconds,
                   exact ? "" : fmt::format("{:.0f} of {} jobs differ", differ, jobs.size())});
  return cases;
}

}  // namespace

Result<std::vector<ReferenceCase>> run_pollux_results(const ReferenceInput& input) {
  ORRERY_TRY(const ExpectedTimes expected, read_expected(input));
  ORRERY_TRY(std::string tables, find_input(input, "sched_pollux_sia", {"applications.csv"}));
  tables.resize(tables.rfind('/'));
  ORRERY_TRY(const Applications applications, read_applications(input.files, tables, "aws"));
  std::vector<ReferenceCase> cases;
  for (const auto& run : expected) {
    ORRERY_TRY(const std::vector<ReferenceCase> found, run_case(input, run.first, run.second, applications));
    cases.insert(cases.end(), found.begin(), found.end());
  }
  return cases;
}

}  // namespace orrery::lab
