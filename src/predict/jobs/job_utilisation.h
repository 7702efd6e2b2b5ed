#pragma once
// What a worker of a data-parallel job uses of processor, memory and network, learned from measured jobs
// (profile/jobs/job_file.h).
//
// Each of the twelve metrics is a physical estimate times what a regression learned of its error (time_regression.h).
// With c the seconds of one step of the model alone, g the gradients' bytes, r the rate of a link, and W workers on S
// servers or in a ring:
//
//   processor  burst c, idle x (the exchange, exchange_time()), 1 core
//   transmit   burst g / r · max(1, W / S), or x in a ring; idle c + x − burst; amount g / burst
//   receive    likewise
//   memory     one level: a process that has loaded its library, and six times its gradients
//
// A metric that most measured jobs have at 0 (durations of a resource with one level) is predicted as 0.

#include <span>

#include "predict/learn/time_regression.h"
#include "profile/jobs/job_file.h"

namespace orrery::predict {

inline constexpr std::size_t kMetricsEach = 3;  // burst, idle, amount
using JobMetrics = std::array<std::array<double, kMetricsEach>, profile::kResources>;

JobMetrics metrics_of(const profile::MeasuredJob& job);

// What is known of a job before it runs.
struct JobFacts {
  profile::Job job;
  double step_s = 0;  // of one worker's step without an exchange, predicted
  double gradients = 0, activations = 0, operators = 0;

  JobMetrics prior() const;
};
// `run` is one step of a worker, which takes `step_s` on a quiet core.
JobFacts facts_of(const profile::Job& job, const workload::TrainingRun& run, double step_s);

class JobUtilisation {
 public:
  // As many facts as jobs.
  static Result<JobUtilisation> fit(std::span<const JobFacts* const> facts,
                                    std::span<const profile::MeasuredJob* const> jobs, std::uint64_t seed);

  JobMetrics predict(const JobFacts& facts) const;

  void write(ByteWriter& out) const;
  static Result<JobUtilisation> read(ByteReader& in);

 private:
  struct Figure {
    bool is_zero = false;
    TimeRegression regression{};
  };
  std::array<std::array<Figure, kMetricsEach>, profile::kResources> metrics_;
};

}  // namespace orrery::predict
