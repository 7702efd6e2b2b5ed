#include "predict/jobs/job_utilisation_model.h"

#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "predict/learn/sealed.h"

namespace orrery::predict {

using profile::JobSet;
using profile::MeasuredJob;

namespace {

constexpr SealedKind kKind{"orrery-uses", kJobUtilisationVersion, "model of jobs", "orrery fit"};
constexpr std::size_t kTextMax = 4096;
constexpr std::uint64_t kFolds = kJobUtilisationFits - 1;
constexpr std::size_t kJobsMin = 20;
constexpr std::string_view kMetricNames[kMetricsEach] = {"burst", "idle", "amount"};

}  // namespace

std::string metric_name(std::size_t resource, std::size_t metric) {
  return fmt::format("{} {}", profile::to_string(static_cast<profile::Resource>(resource)), kMetricNames[metric]);
}

PredictedUtilisation JobUtilisationModel::predict(const JobFacts& facts) const {
  const JobMetrics metrics = use.predict(facts);
  PredictedUtilisation predicted{};
  for (std::size_t r = 0; r < profile::kResources; ++r) {
    for (std::size_t f = 0; f < kMetricsEach; ++f) {
      predicted[r][f] = {metrics[r][f], intervals.interval(metrics[r][f], metric_name(r, f))};
    }
  }
  return predicted;
}

Result<JobUtilisationModel> fit_job_utilisation(const JobSet& set, const StepModel& steps, std::uint64_t seed,
                                                const std::function<void()>& progress) {
  if (set.jobs.size() < kJobsMin) {
    return Error::invalid(fmt::format("{} jobs; {} are needed", set.jobs.size(), kJobsMin));
  }
  std::vector<JobFacts> facts;
  std::vector<std::uint64_t> folds;
  for (const MeasuredJob& job : set.jobs) {
    ORRERY_TRY(const workload::TrainingRun run, run_of(job.job));
    facts.push_back(facts_of(job.job, run, steps.predict(run).iteration));
    folds.push_back(Random(seed).split(job.job.key()).below(kFolds));
  }
  const auto fit_without = [&](std::uint64_t fold) {
    std::vector<const JobFacts*> known;
    std::vector<const MeasuredJob*> jobs;
    for (std::size_t i = 0; i < facts.size(); ++i) {
      if (folds[i] == fold) continue;
      known.push_back(&facts[i]);
      jobs.push_back(&set.jobs[i]);
    }
    return JobUtilisation::fit(known, jobs, seed);
  };
  std::vector<CalibrationPair> pairs;
  JobUtilisationModel model{
      .machine = set.header.machine, .library = set.header.library, .seed = seed, .jobs = set.jobs.size()};
  for (std::uint64_t fold = 0; fold < kFolds; ++fold) {
    ORRERY_TRY(const JobUtilisation use, fit_without(fold));
    if (progress) progress();
    for (std::size_t i = 0; i < facts.size(); ++i) {
      if (folds[i] != fold) continue;
      const JobMetrics measured = metrics_of(set.jobs[i]), predicted = use.predict(facts[i]);
      for (std::size_t r = 0; r < profile::kResources; ++r) {
        for (std::size_t f = 0; f < kMetricsEach; ++f) {
          if (measured[r][f] <= 0 || predicted[r][f] <= 0) continue;
          pairs.push_back({predicted[r][f], measured[r][f], metric_name(r, f)});
          model.error += std::abs(predicted[r][f] / measured[r][f] - 1);
        }
      }
    }
  }
  model.error /= static_cast<double>(std::max<std::size_t>(1, pairs.size()));
  ORRERY_TRY(model.intervals, Conformal::fit(pairs));
  ORRERY_TRY(model.use, fit_without(kFolds));
  if (progress) progress();
  return model;
}

std::string to_bytes(const JobUtilisationModel& model) {
  ByteWriter body;
  body.text(model.machine);
  body.text(model.library);
  body.u64(model.seed);
  body.u64(model.jobs);
  body.f64(model.error);
  model.intervals.write(body);
  model.use.write(body);
  return seal(kKind, body.bytes());
}

bool is_job_utilisation(std::string_view bytes) {
  return bytes.starts_with(kKind.name);
}

Result<JobUtilisationModel> parse_job_utilisation(std::string_view bytes) {
  ORRERY_TRY(const std::string_view body, unseal(kKind, bytes));
  ByteReader in(body);
  JobUtilisationModel model;
  ORRERY_TRY(model.machine, in.text(kTextMax));
  ORRERY_TRY(model.library, in.text(kTextMax));
  ORRERY_TRY(model.seed, in.u64());
  ORRERY_TRY(model.jobs, in.u64());
  ORRERY_TRY(model.error, in.f64());
  if (!(model.error >= 0)) return Error::invalid("an error below 0");
  ORRERY_TRY(model.intervals, Conformal::read(in));
  ORRERY_TRY(model.use, JobUtilisation::read(in));
  if (!in.at_end()) return Error::invalid("bytes behind its end");
  return model;
}

}  // namespace orrery::predict
