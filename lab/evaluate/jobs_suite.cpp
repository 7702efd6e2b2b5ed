#include "lab/evaluate/jobs_suite.h"

#include <fmt/format.h>
#include <set>

#include "base/text.h"
#include "lab/evaluate/left_out.h"
#include "predict/jobs/job_utilisation_model.h"
#include "predict/measured/measured_dataset.h"

namespace orrery::lab {

using profile::JobSet;
using profile::MeasuredJob;
using profile::Resource;

namespace {

constexpr std::string_view kShippedJobs = "data/jobs.dataset",
                           kShippedSteps = "data/cpu.dataset";  // in the source tree

Result<StepModel> step_model(const SuiteInput& input) {
  ORRERY_TRY(const profile::Dataset dataset, profile::read_dataset(input.files, std::string(kShippedSteps)));
  ORRERY_TRY(const MeasuredSet set, measured_set(dataset));
  return StepModel::fit(undisturbed_steps(set.iterations), StepScale{}, step_boost_options(input.seed, input.threads));
}

Result<std::vector<JobFacts>> facts_of_all(const JobSet& set, const StepModel& model) {
  std::vector<JobFacts> facts;
  for (const MeasuredJob& job : set.jobs) {
    ORRERY_TRY(const workload::TrainingRun run, run_of(job.job));
    facts.push_back(facts_of(job.job, run, model.predict(run).iteration));
  }
  return facts;
}

// Every job predicted from those of the other folds.
Result<std::vector<JobMetrics>> predict_left_out(const JobSet& set, const std::vector<JobFacts>& facts,
                                                 const std::vector<std::string>& folds, std::uint64_t seed) {
  std::vector<JobMetrics> predicted(set.jobs.size());
  for (const std::string& fold : std::set<std::string>(folds.begin(), folds.end())) {
    std::vector<const JobFacts*> known;
    std::vector<const MeasuredJob*> jobs;
    for (std::size_t i = 0; i < folds.size(); ++i) {
      if (folds[i] == fold) continue;
      known.push_back(&facts[i]);
      jobs.push_back(&set.jobs[i]);
    }
    ORRERY_TRY(const JobUtilisation use, JobUtilisation::fit(known, jobs, seed));
    for (std::size_t i = 0; i < folds.size(); ++i) {
      if (folds[i] == fold) predicted[i] = use.predict(facts[i]);
    }
  }
  return predicted;
}

// One case per metric that is not 0; metrics of a kind calibrate each other. Amounts are not times, so their root mean
// squares are in their own units.
std::vector<LeftOut> cases_of(const JobSet& set, const std::vector<JobMetrics>& predicted,
                              const std::vector<std::string>& folds,
                              const std::function<std::string(Resource, std::size_t)>& group) {
  std::vector<LeftOut> cases;
  for (std::size_t i = 0; i < set.jobs.size(); ++i) {
    const JobMetrics measured = metrics_of(set.jobs[i]);
    for (std::size_t r = 0; r < profile::kResources; ++r) {
      for (std::size_t f = 0; f < kMetricsEach; ++f) {
        if (measured[r][f] <= 0) continue;
        const auto resource = static_cast<Resource>(r);
        LeftOut one = left_out_of(group(resource, f), measured[r][f], std::max(predicted[i][r][f], 1e-9), folds[i]);
        one.kind = metric_name(r, f);
        cases.push_back(std::move(one));
      }
    }
  }
  return cases;
}

}  // namespace

Result<SuiteReport> run_jobs_suite(const SuiteInput& input) {
  const std::string path = input.train.empty() ? std::string(kShippedJobs) : input.train;
  if (!input.files.exists(path)) {
    return Error::not_found(
        fmt::format("no set of jobs {}; give one: --train FILE (`orrery dataset jobs FILE` makes one)", quote(path)));
  }
  const double begin = input.now_s();
  ORRERY_TRY(const JobSet set, profile::read_jobs(input.files, path));
  ORRERY_TRY(const StepModel model, step_model(input));
  ORRERY_TRY(const std::vector<JobFacts> facts, facts_of_all(set, model));
  std::vector<std::string> folds;
  std::vector<JobMetrics> priors;
  for (std::size_t i = 0; i < set.jobs.size(); ++i) {
    folds.push_back(random_fold(set.jobs[i].job.key(), input.seed));
    priors.push_back(facts[i].prior());
  }
  ORRERY_TRY(const std::vector<JobMetrics> predicted, predict_left_out(set, facts, folds, input.seed));

  SuiteReport report{.suite = "jobs", .seed = input.seed};
  const auto add = [&](const std::vector<JobMetrics>& what, const auto& group) -> Status {
    ORRERY_TRY(const std::vector<Case> cases, calibrated_cases(cases_of(set, what, folds, group)));
    report.add(cases, input.now_s() - begin);
    return {};
  };
  ORRERY_TRY_VOID(add(predicted, [](Resource resource, std::size_t) { return std::string(to_string(resource)); }));
  ORRERY_TRY_VOID(add(predicted, [](Resource resource, std::size_t metric) {
    return metric_name(static_cast<std::size_t>(resource), metric);
  }));
  ORRERY_TRY_VOID(add(priors, [](Resource resource, std::size_t) {
    return fmt::format("{}, physical estimate alone", to_string(resource));
  }));
  report.publish("cpu", 0.11, "Driple, GPU, three cases");
  report.publish("memory", 0.09, "Driple, GPU memory, three cases");
  report.publish("transmit", 0.17, "Driple, three cases");
  report.publish("receive", 0.15, "Driple, three cases");
  report.notes.push_back(
      fmt::format("{} jobs; figures that are 0 (of a resource with one level) are not scored", set.jobs.size()));
  return report;
}

}  // namespace orrery::lab
