// AlloX: the published mean completion time to 1e-6. Hydra: at most the published late jobs and mean completion time.

#include <cmath>
#include <fmt/format.h>

#include "lab/lab.h"
#include "lab/reference/batch_file.h"
#include "lab/reference/kinds.h"
#include "schedule/policies/allox.h"
#include "schedule/policies/hydra.h"
#include "simulate/data_file.h"

namespace orrery::lab {

using schedule::BatchPlan;
using schedule::BatchProblem;

namespace {

constexpr double kAlloxTolerance = 1e-6;

struct Published {
  std::string policy;
  std::size_t jobs = 0;
  double mean_s = 0, late = 0;
};

Result<std::vector<Published>> read_published(env::Files& files, const std::string& path) {
  ORRERY_TRY(const CsvTable table, read_csv_file(files, path));
  std::vector<Published> result;
  for (const CsvRow& row : table.rows) {
    Published& line = result.emplace_back();
    ORRERY_TRY(line.policy, text_field(table, row, "policy"));
    ORRERY_TRY(const double jobs, number_field(table, row, "first_n_jobs"));
    line.jobs = static_cast<std::size_t>(std::max(0.0, jobs));
    ORRERY_TRY(line.mean_s, number_field(table, row, "avg_jct_s"));
    ORRERY_TRY(line.late, number_field(table, row, "deadline_violated_jobs"));
  }
  return result;
}

Result<std::vector<ReferenceCase>> run_case(const ReferenceInput& input, const BatchProblem& all,
                                            const Published& published) {
  const std::string instance = fmt::format("first {} jobs", published.jobs);
  const bool allox = published.policy == "Allox", hydra = published.policy.starts_with("Hydra");
  if (!allox && !hydra) {
    return std::vector<ReferenceCase>{{instance, published.policy, "mean completion time, s", published.mean_s, 0,
                                       Target::kNone, 0, 0, "a quality bar of the authors; not ours to reproduce"}};
  }
  if (published.jobs == 0 || published.jobs > all.jobs.size()) {
    return Error::invalid(fmt::format("{}: the input has {} jobs", instance, all.jobs.size()));
  }
  BatchProblem problem = all;
  problem.jobs.resize(published.jobs);
  const double start = input.now_s();
  ORRERY_TRY(const std::vector<schedule::BatchQueue> queues,
             allox ? schedule::solve_allox(problem) : schedule::plan_hydra(problem));
  const double seconds = input.now_s() - start;
  const BatchPlan plan = schedule::plan_of(problem, queues);
  const double mean = plan.total_s / static_cast<double>(published.jobs);
  std::vector<ReferenceCase> cases = {{instance, published.policy, "mean completion time, s", published.mean_s, mean,
                                       allox ? Target::kWithin : Target::kAtMost, allox ? kAlloxTolerance : 0,
                                       seconds}};
  if (hydra) {
    cases.push_back({instance, published.policy, "late jobs", published.late, static_cast<double>(plan.late),
                     Target::kAtMost, 0, seconds});
  }
  return cases;
}

}  // namespace

Result<std::vector<ReferenceCase>> run_batch_results(const ReferenceInput& input,
                                                     const std::vector<std::string>& names) {
  ORRERY_TRY(const std::vector<MachineCount> machines, parse_machine_counts(input.machines));
  ORRERY_TRY(const std::string path, find_input_named(input, "hydra_pai", "cases"));
  ORRERY_TRY(const BatchProblem problem, read_batch_problem(input.files, path, machines));
  std::vector<ReferenceCase> cases;
  for (const std::string& name : names) {
    if (!name.starts_with("published_")) continue;
    ORRERY_TRY(const std::vector<Published> published, read_published(input.files, input.folder + "/" + name));
    for (const Published& line : published) {
      ORRERY_TRY(const std::vector<ReferenceCase> found, run_case(input, problem, line));
      cases.insert(cases.end(), found.begin(), found.end());
    }
  }
  return cases;
}

}  // namespace orrery::lab
