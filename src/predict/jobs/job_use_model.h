#pragma once
// What was learned of the use of resources by the jobs measured on one machine, and the file it is kept in
// (docs/reference/formats/model.md, `orrery-uses`).

#include "predict/jobs/job_use.h"
#include "predict/learn/conformal.h"
#include "predict/measured/measured_model.h"

namespace orrery::predict {

inline constexpr std::uint32_t kJobUseVersion = 1;

// A figure and where it is expected, in four of five cases.
struct JobFigure {
  double value = 0;
  Interval interval{};
};
using PredictedUse = std::array<std::array<JobFigure, kFiguresEach>, profile::kResources>;

struct JobUseModel {
  std::string machine, library;
  std::uint64_t seed = 1;
  std::uint64_t jobs = 0;  // learned from
  double error = 0;        // mean relative error of figures of jobs that were left out
  JobUse use{};
  Conformal intervals{};  // by figure, of jobs that were left out

  PredictedUse predict(const JobFacts& facts) const;
};

// "cpu burst": the name of a figure, by which intervals are kept.
std::string figure_name(std::size_t resource, std::size_t figure);

// `steps` tells how long a step takes on the machine of the jobs. `progress` is called after each of kJobUseFits.
inline constexpr int kJobUseFits = 6;
Result<JobUseModel> fit_job_use(const profile::JobSet& set, const StepModel& steps, std::uint64_t seed,
                                const std::function<void()>& progress = {});

std::string to_bytes(const JobUseModel& model);
bool is_job_use(std::string_view bytes);
// Any bytes give a model or an error.
Result<JobUseModel> parse_job_use(std::string_view bytes);

}  // namespace orrery::predict
