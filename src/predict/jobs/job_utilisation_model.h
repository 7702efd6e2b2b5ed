#pragma once
// What was learned of the use of resources by the jobs measured on one machine, and the file it is kept in
// (docs/reference/formats/model.md, `orrery-uses`).

#include "predict/jobs/job_utilisation.h"
#include "predict/learn/conformal.h"
#include "predict/measured/measured_model.h"

namespace orrery::predict {

inline constexpr std::uint32_t kJobUtilisationVersion = 1;

// A metric and where it is expected, in four of five cases.
struct JobMetric {
  double value = 0;
  Interval interval{};
};
using PredictedUtilisation = std::array<std::array<JobMetric, kMetricsEach>, profile::kResources>;

struct JobUtilisationModel {
  std::string machine, library;
  std::uint64_t seed = 1;
  std::uint64_t jobs = 0;  // learned from
  double error = 0;        // mean relative error of metrics of jobs that were left out
  JobUtilisation use{};
  Conformal intervals{};  // by metric, of jobs that were left out

  PredictedUtilisation predict(const JobFacts& facts) const;
};

// "cpu burst": the name of a metric, by which intervals are kept.
std::string metric_name(std::size_t resource, std::size_t metric);

// `steps` gives the time of a step on the machine of the jobs. `progress` is called after each of kJobUtilisationFits.
inline constexpr int kJobUtilisationFits = 6;
Result<JobUtilisationModel> fit_job_utilisation(const profile::JobSet& set, const StepModel& steps, std::uint64_t seed,
                                                const std::function<void()>& progress = {});

std::string to_bytes(const JobUtilisationModel& model);
bool is_job_utilisation(std::string_view bytes);
// Any bytes give a model or an error.
Result<JobUtilisationModel> parse_job_utilisation(std::string_view bytes);

}  // namespace orrery::predict
