// Shockwave's runs on 32 real GPUs: the error of our mean completion times and makespans against reality, at most that
// of its authors' simulator on average.
//
// The same 120 jobs were run for real and simulated by the authors, under several policies (summary.csv). Most jobs
// change their batch while they train, by the rules of batch_rules.h. Shockwave's own policy is not ours. Judged are
// each metric by itself, and both together.

#include <cmath>
#include <fmt/format.h>
#include <map>

#include "lab/lab.h"
#include "lab/reference/gavel/gavel_jobs.h"
#include "lab/reference/kinds.h"
#include "simulate/data_file.h"

namespace orrery::lab {

namespace {

constexpr int kGpus = 32;
// Of the scheduler that ran them: shares are at least so old, and a job that comes back loses so much of its round.
// Nothing is fitted.
constexpr double kRoundS = 120, kResetS = 1000, kResumeS = 20;
// What they call their policies, and what we do.
const std::map<std::string, std::string> kPolicies = {{"allox", "allox_alpha=0.2"},
                                                      {"finish_time_fairness", "finish_time_fairness_perf"},
                                                      {"finish_time_fairness_perf", "finish_time_fairness_perf"},
                                                      {"max_min_fairness", "max_min_fairness_perf"},
                                                      {"max_min_fairness_perf", "max_min_fairness_perf"},
                                                      {"max_sum_throughput_perf", "max_sum_throughput_perf"},
                                                      {"min_total_duration", "min_total_duration_perf"},
                                                      {"min_total_duration_perf", "min_total_duration_perf"}};

struct Metrics {
  double mean_s = 0, makespan_s = 0;
};
struct Published {
  Metrics real, simulated;
};

Result<std::map<std::string, Published>> read_published(const ReferenceInput& input) {
  ORRERY_TRY(const CsvTable table, read_csv_file(input.files, input.folder + "/summary.csv"));
  std::map<std::string, Published> published;
  for (const CsvRow& row : table.rows) {
    ORRERY_TRY(const std::string policy, text_field(table, row, "policy"));
    ORRERY_TRY(const std::string kind, text_field(table, row, "kind"));
    Metrics& metrics = kind == "physical" ? published[policy].real : published[policy].simulated;
    ORRERY_TRY(metrics.mean_s, number_field(table, row, "avg_jct_s"));
    ORRERY_TRY(metrics.makespan_s, number_field(table, row, "makespan_s"));
  }
  for (const auto& [policy, metrics] : published) {
    if (!(metrics.real.mean_s > 0 && metrics.simulated.mean_s > 0)) {
      return Error::invalid(fmt::format("summary.csv: {}: expected a physical and a simulated run", policy));
    }
  }
  return published;
}

double error_of(double simulated, double real) {
  return std::abs(simulated / real - 1);
}

// Errors of us and of the authors, over policies.
struct Errors {
  double ours = 0, theirs = 0;
  int cases = 0;

  Errors and_also(const Errors& other) const { return {ours + other.ours, theirs + other.theirs, cases + other.cases}; }

  ReferenceCase judged(const std::string& metric) const {
    return {metric + ", over policies",
            "all",
            "mean error against reality",
            theirs / cases,
            ours / cases,
            Target::kAtMost,
            0,
            0,
            "the authors' simulator and ours"};
  }
};

ReferenceCase compare(const std::string& policy, const std::string& metric, double Metrics::*value,
                      const Published& published, double ours, double seconds, Errors& errors) {
  const double real = published.real.*value, theirs = published.simulated.*value;
  errors.ours += error_of(ours, real);
  errors.theirs += error_of(theirs, real);
  ++errors.cases;
  return {"32 real GPUs",
          policy,
          metric + ", s",
          real,
          ours,
          Target::kShown,
          0,
          seconds,
          fmt::format("the authors' simulator: {:.0f} s, {:+.1f} %", theirs, 100 * (theirs / real - 1))};
}

}  // namespace

Result<std::vector<ReferenceCase>> run_shockwave_results(const ReferenceInput& input) {
  ORRERY_TRY(const auto published, read_published(input));
  ORRERY_TRY(const std::string speeds_path, find_input(input, "shockwave", {"tacc_throughputs.json"}));
  ORRERY_TRY(const std::string speeds_text, read_data_file(input.files, speeds_path));
  ORRERY_TRY(const PackedSpeeds speeds, PackedSpeeds::parse(speeds_text, {"v100"}));
  ORRERY_TRY(const std::string trace, find_input(input, "shockwave", {"dynamic_120.csv", "traces/dynamic_120.csv"}));
  ORRERY_TRY(const GavelJobs jobs, read_gavel_jobs(input.files, trace, speeds));
  GavelOptions options;
  options.gpus = {kGpus};
  options.round_s = kRoundS;
  options.reset_s = kResetS;
  options.resume_s = kResumeS;
  std::vector<ReferenceCase> cases;
  Errors means, makespans;
  for (const auto& [policy, metrics] : published) {
    const auto ours = kPolicies.find(policy);
    if (ours == kPolicies.end()) {
      cases.push_back({"32 real GPUs", policy, "mean completion time, s", metrics.real.mean_s, 0, Target::kNone, 0, 0,
                       "not a policy of ours"});
      continue;
    }
    const double start = input.now_s();
    ORRERY_TRY(const GavelResult run, simulate_gavel(jobs, speeds, ours->second, options));
    const double seconds = input.now_s() - start;
    double sum = 0;
    for (const double completion_s : run.completion_s) sum += completion_s;
    cases.push_back(compare(policy, "mean completion time", &Metrics::mean_s, metrics,
                            sum / static_cast<double>(jobs.size()), seconds, means));
    cases.push_back(compare(policy, "makespan", &Metrics::makespan_s, metrics, run.makespan_s, seconds, makespans));
  }
  if (means.cases == 0) return Error::invalid("summary.csv: none of its policies is one of ours");
  cases.push_back(means.judged("mean completion time"));
  cases.push_back(makespans.judged("makespan"));
  cases.push_back(means.and_also(makespans).judged("both"));
  return cases;
}

}  // namespace orrery::lab
